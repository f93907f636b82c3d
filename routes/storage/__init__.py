"""The API of Supabase Storage under /storage/v1: uploads, downloads, lists and links of files (docs/FILES.md)."""
