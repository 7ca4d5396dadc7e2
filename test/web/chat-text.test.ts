import t from "tap";
import { de } from "../../web/i18n/de.js";
import { en } from "../../web/i18n/en.js";
import { memoryShelf } from "../../web/lib/storage.js";
import {
  memberIn,
  partsIn,
  reactionsIn,
  saidIn,
} from "../../web/state/chat-content.js";
import { Drafts, emptyDraft } from "../../web/state/chat-drafts.js";
import { allEmoji } from "../../web/state/chat-emoji.js";
import {
  labelFor,
  queryAt,
  withIds,
  withNames,
} from "../../web/state/chat-mentions.js";
import { lineName, tameName } from "../../web/state/chat-names.js";

const ADA = "2d7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";
const BEN = "3e7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";

void t.test("what a message says, whatever its content is", (t) => {
  const file = { url: "https://a/b.png", name: "b.png", mimeType: "image/png" };
  for (const [content, said] of [
    [
      { type: "text", body: "Hi" },
      { is: "text", body: "Hi" },
    ],
    [
      { type: "files", files: [file] },
      {
        is: "files",
        body: "",
        files: [{ url: file.url, name: file.name, type: file.mimeType }],
      },
    ],
    [
      { type: "files", files: [null, 5, { url: 7, name: {} }], body: [] },
      {
        is: "files",
        body: "",
        files: Array(3).fill({ url: "", name: "", type: "" }),
      },
    ],
    [{ type: "deleted" }, { is: "deleted" }],
    [{ type: "text", body: 5 }, { is: "unknown" }],
    [{ type: "text", body: "" }, { is: "unknown" }],
    [{ type: "files", files: "all" }, { is: "unknown" }],
    [{ type: "call", body: { id: 1 } }, { is: "unknown" }],
    [{}, { is: "unknown" }],
    [null, { is: "unknown" }],
    ["text", { is: "unknown" }],
    [[], { is: "unknown" }],
  ] as const) {
    t.same(saidIn(content), said, JSON.stringify(content));
  }
  t.end();
});

void t.test("other contents may be anything as well", (t) => {
  const of = (content: unknown, sender: string | null = null) => ({
    content: content as Record<string, unknown>,
    sender,
  });
  t.same(memberIn(of({ membership: "join", user: { id: ADA } })), {
    id: ADA,
    isHere: true,
  });
  t.same(memberIn(of({ membership: "leave" }, BEN)), {
    id: BEN,
    isHere: false,
  });
  for (const content of [null, 1, {}, { membership: 1, user: 2 }]) {
    t.equal(memberIn(of(content)), undefined);
  }
  const strange = JSON.parse(
    '{"👍":["a"],"__proto__":["b"],"x":"y","z":[],"":["c"]}',
  ) as Record<string, string[]>;
  t.same(reactionsIn({ reactions: strange }), [
    ["👍", ["a"]],
    ["__proto__", ["b"]],
  ]);
  t.same(reactionsIn({ reactions: null as never }), []);
  t.end();
});

void t.test("mentions are ids to the server and names to people", (t) => {
  t.same(partsIn(`Hi @${ADA.toUpperCase()}, and @${BEN}!`), [
    { text: "Hi " },
    { mention: ADA },
    { text: ", and " },
    { mention: BEN },
    { text: "!" },
  ]);
  t.same(partsIn("a@b.c @nobody"), [{ text: "a@b.c @nobody" }]);
  const mentions = [
    { label: "Ada", id: ADA },
    { label: "Ada L", id: BEN },
  ];
  for (const [text, stored] of [
    ["@Ada", `@${ADA}`],
    ["@Ada L, @Ada: hello", `@${BEN}, @${ADA}: hello`],
    ["@Adam is not @Ada_", "@Adam is not @Ada_"],
    ["no @", "no @"],
    ["@@Ada", `@@${ADA}`],
    ["@Ben", "@Ben"],
  ] as const) {
    t.equal(withIds(text, mentions), stored, text);
  }
  const nameOf = () => "Ada";
  const shown = withNames(`@${ADA} @${BEN} @${ADA}`, nameOf);
  t.equal(shown.text, "@Ada @Ada (2) @Ada");
  t.equal(
    withIds(shown.text, shown.mentions),
    `@${ADA} @${BEN} @${ADA}`,
    "there and back, even with equal names",
  );
  t.end();
});

void t.test("hostile names make one tame word", (t) => {
  for (const name of [
    "\u202Egnp.exe",
    "a\nb",
    "@@",
    "\u200B",
    "x".repeat(500),
  ]) {
    const label = labelFor({ id: ADA, name }, []);
    t.ok(label.length > 0 && label.length <= 40);
    t.notMatch(label, /[@\n\u202E\u200B]/);
  }
  t.equal(tameName("\u202EAda\u2066\n\tLovelace"), "Ada Lovelace");
  t.equal(tameName("\u200B\u200F"), "");
  t.equal([...tameName("👩‍🚀".repeat(50))].length, 61);
  t.equal(tameName("👩‍🚀"), "👩‍🚀", "what joins emoji stays");
  const unseen = { id: ADA, profile: { display_name: "\u200B" } };
  t.equal(lineName(unseen, "Somebody"), "Somebody");
  t.equal(lineName(undefined, "Somebody"), "Somebody");
  t.end();
});

void t.test("a name is looked for while it is typed", (t) => {
  for (const [text, found] of [
    ["@", { from: 0, term: "" }],
    ["Hi @ad", { from: 3, term: "ad" }],
    ["(@ad", { from: 1, term: "ad" }],
    ["@Ada Lo", { from: 0, term: "Ada Lo" }],
    ["@Ada\nwhat", undefined],
    ["@ ada", undefined],
    ["mail@ada", undefined],
    ["@one two three four", undefined],
    [`@${"x".repeat(40)}`, undefined],
    ["", undefined],
  ] as const) {
    t.same(queryAt(text, text.length), found, text);
  }
  t.same(queryAt("@ada is here", 3), { from: 0, term: "ad" });
  t.end();
});

void t.test("drafts survive, and nothing that is kept breaks them", (t) => {
  const shelf = memoryShelf();
  const drafts = new Drafts(shelf, "key");
  const kept = {
    draft: {
      text: "Hi @Ada",
      mentions: [{ label: "Ada", id: ADA }],
      files: [{ url: "u", name: "n", type: "t" }],
    },
    unconfirmed: [{ content: { type: "text", body: "Hello" }, after: 5 }],
  };
  drafts.write(kept);
  t.same(new Drafts(shelf, "key").read(), kept);
  t.same(new Drafts(shelf, "other").read().draft, emptyDraft);
  drafts.write({ draft: emptyDraft, unconfirmed: [] });
  t.equal(shelf.getItem("key"), null, "nothing is left of nothing");
  for (const json of [
    "{",
    "5",
    "null",
    "[]",
    '{"draft":5,"unconfirmed":{}}',
    '{"draft":{"text":1,"mentions":[1,null],"files":[{}]},"unconfirmed":[1,{"after":1},{"content":{"type":"call"}}]}',
  ]) {
    shelf.setItem("key", json);
    t.same(drafts.read(), { draft: emptyDraft, unconfirmed: [] }, json);
  }
  t.end();
});

void t.test(
  "each emoji is there once, and has a name in each language",
  (t) => {
    t.equal(new Set(allEmoji).size, allEmoji.length);
    for (const { chat } of [en, de]) {
      const names = chat.emojiNames.split("|");
      t.equal(names.length, allEmoji.length);
      t.equal(new Set(names).size, names.length);
    }
    t.end();
  },
);
