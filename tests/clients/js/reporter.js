// One JSON line for each test that ran: what test_supabase_js.py reads.
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const error = data.details?.error?.cause ?? data.details?.error;
    const reason = type === "test:fail" ? String(error?.stack ?? error) : null;
    yield JSON.stringify({ name: data.name, reason }) + "\n";
  }
}
