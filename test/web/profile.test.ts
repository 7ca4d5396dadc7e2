import t from "tap";
import { answersOf, fieldsOf } from "../../web/state/profile.js";

const fields = [
  { id: "job", label: "Job", type: "text" },
  { id: "site", label: "Website", type: "link" },
  { id: "shirt", label: "Shirt", type: "select", choices: "S, M ,M\nL" },
  { id: "job", label: "Again", type: "text" },
  { label: "without id" },
  { id: "odd", label: 7, type: "script", choices: ["a", 3, ""] },
];

void t.test("the questions of a world", async (t) => {
  t.same(fieldsOf(fields), [
    { id: "job", label: "Job", type: "text", choices: [] },
    { id: "site", label: "Website", type: "link", choices: [] },
    { id: "shirt", label: "Shirt", type: "select", choices: ["S", "M", "L"] },
    { id: "odd", label: "odd", type: "text", choices: ["a"] },
  ]);
});

void t.test("the answers of a user", async (t) => {
  const answersTo = (profile: Record<string, unknown>) =>
    answersOf({ profile }, fields);
  t.same(
    answersTo({ fields: { job: " Baker ", site: "https://a.example/" } }),
    [
      { id: "job", label: "Job", text: "Baker" },
      {
        id: "site",
        label: "Website",
        text: "https://a.example/",
        href: "https://a.example/",
      },
    ],
  );
  // What leads nowhere is text.
  t.same(answersTo({ fields: { site: "javascript:alert(1)" } }), [
    { id: "site", label: "Website", text: "javascript:alert(1)" },
  ]);
  const nothing = [
    {},
    { fields: null },
    { fields: "job" },
    { fields: { job: 7, site: null, shirt: " ", more: "x" } },
  ];
  for (const profile of nothing) t.same(answersTo(profile), []);
  t.same(answersOf(undefined, fields), []);
});
