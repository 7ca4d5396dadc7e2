import fc from "fast-check";
import { marked } from "marked";
import t from "tap";
import { isPlain, withoutMarks } from "../../web/lib/rich-text.js";

const OPTIONS = { async: false, gfm: true, breaks: true } as const;

const escaped = (text: string) =>
  text.replace(
    /[&<>"']/g,
    (char) =>
      ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[
        char
      ]!,
  );

void t.test("plain is what Markdown leaves as it is", async (t) => {
  const plain = [
    "Hello, world!",
    "a - b (c) #1 1. 50 % = x + y | z",
    "@0b6a2a3e-8f3a-4c2b-9a70-1d2f3c4b5a69 is here",
    "grüße 你好 😀",
  ];
  for (const text of plain) t.ok(isPlain(text, true), text);
  const rich: [text: string, inline: boolean][] = [
    ["**a**", true],
    ["a https://example.org", true],
    ["www.example.org", true],
    ["ada@example.org", true],
    ["&amp;", true],
    ["<b>", true],
    ["a\nb", true],
    ["# a", false],
    ["- a", false],
    ["12) a", false],
    ["> a", false],
  ];
  for (const [text, inline] of rich) t.notOk(isPlain(text, inline), text);

  const word = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom(..."\\`*_{}[]()#+-.!|<>&~=:/@^$\n\t 1."),
    fc.constantFrom(
      "http://a.b",
      "ftp://a.b",
      "www.a.b",
      "a@b.cd",
      "&lt;",
      "1. ",
    ),
  );
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(""));
  let count = 0;
  fc.assert(
    fc.property(text, (text) => {
      if (isPlain(text, true)) {
        count++;
        t.equal(marked.parseInline(text, OPTIONS), escaped(text), text);
      }
      if (isPlain(text, false) && text !== "") {
        const html = `<p>${escaped(text)}</p>\n`;
        t.equal(marked.parse(text, OPTIONS), html, text);
      }
    }),
    { numRuns: 5000 },
  );
  t.ok(count > 100, `${count} of them are plain`);
});

void t.test("a text without its marks", async (t) => {
  for (const [text, plain] of [
    ["Talks and *keynotes*, **live**.", "Talks and keynotes, live."],
    [
      "# Stage\n> See the [program](https://a.example/_a_).",
      "Stage\nSee the program.",
    ],
    ["`file_name` is _kept_, 2 ~ 3", "file_name is kept, 2  3"],
    ["[[[[", "[[[["],
  ] as const) {
    t.equal(withoutMarks(text), plain);
  }
});
