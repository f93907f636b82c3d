// PocketBase commits with synchronous = NORMAL: a power cut loses the last commits. The other servers sync each commit.
// All writes use one connection; this sets it to FULL, so that every server of the benchmark gives the same promise.

onBootstrap((e) => {
  e.next();
  e.app.nonconcurrentDB().newQuery("PRAGMA synchronous = FULL").execute();
});
