import t from "tap";
import { serve, worldOf } from "../helper.js";

void t.test("what a person sees at /", async (t) => {
  const { call } = await serve(t, [
    worldOf("secret-fair", {
      title: "Secret fair",
      domain: "fair.example.org",
    }),
  ]);
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const page = await call({ url: "/", headers: { accept } });
  t.equal(page.status, 200);
  t.match(page.headers, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": /^default-src 'none';/,
    "x-content-type-options": "nosniff",
    vary: "accept",
  });
  t.notMatch(page.headers["content-security-policy"], /unsafe|script-src/);
  t.match(page.text, /href="docs\/"/, "it points to the API");
  t.notMatch(page.text, /<script/);
  t.notMatch(page.text, /fair/i, "it names no world");

  const programs: Record<string, string | undefined> = {
    "a program": "application/json",
    curl: "*/*",
    "no Accept": undefined,
  };
  for (const [name, accept] of Object.entries(programs)) {
    const headers: Record<string, string> =
      accept === undefined ? {} : { accept };
    const { status, body } = await call({ url: "/", headers });
    t.match(
      { status, body },
      { status: 404, body: { detail: "Not found." } },
      name,
    );
  }
});
