"""The import of CSV files: how a file is read, what its columns mean, and which rows and problems it has."""
