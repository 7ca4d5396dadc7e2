import t from "tap";
import { serve } from "../helper.js";

void t.test("the page, as it is sent", async (t) => {
  const { call } = await serve(t);
  const page = await call({ url: "/docs/" });
  t.match(page, {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": /default-src 'self';/,
    },
  });
  t.match(page.text, /<title>Foyer API<\/title>/);
  t.match(page.text, /<meta name="viewport" content="width=device-width/);
  t.notMatch(page.text, /(src|href)="(\/|https?:)/, "each address is relative");
  const moved = await call({ url: "/docs?x=1" });
  t.match(moved, { status: 302, headers: { location: "docs/?x=1" } });
  for (const file of ["index.html", "../package.json", "swagger-ui.js"]) {
    const { status } = await call({ url: `/docs/static/${file}` });
    t.equal(status, 404, `${file} is not served`);
  }
});
