import { analyse } from "scslre";
import t from "tap";
import { serve } from "../helper.js";

/** Every `pattern` in a document, also as a name of properties, by where it stands. */
function* patternsIn(value: unknown, path = ""): Generator<[string, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const place = `${path}/${key}`;
    if (key === "pattern" && typeof inner === "string") yield [place, inner];
    if (key === "patternProperties") {
      for (const source of Object.keys(inner as object)) yield [place, source];
    }
    yield* patternsIn(inner, place);
  }
}

// Those written out in code are the linter's (.oxlintrc.jsonc).
void t.test("no pattern takes longer than linearly", async (t) => {
  const { app } = await serve(t);
  // What checks is compiled from the components, whose keys are patterns too.
  const { components } = await import("../../schemas/openapi/components.js");
  const found = [
    ...patternsIn(app.openapi()),
    ...patternsIn(components, "/code"),
  ];
  t.ok(found.length > 10, `there are ${found.length}`);
  for (const [place, source] of found) {
    const { reports } = analyse(new RegExp(source, "u"), {
      reportTypes: { Move: false },
    });
    t.equal(reports.length, 0, `${place}: ${source}`);
  }
  const { reports } = analyse(/^(a+)+$/u);
  t.ok(reports.length > 0, "and one that can is found out");
});
