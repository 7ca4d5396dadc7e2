import fc from "fast-check";
import { createVerifier } from "fast-jwt";
import t from "tap";
import { Foyer, Live } from "../../../client/index.js";
import {
  defaultPermissionConfig,
  holds,
  moderatorRules,
  type Rule,
} from "../../../schemas/plain/permissions.js";
import { memoryShelf } from "../../../web/lib/storage.js";
import { claimsOf } from "../../../web/state/identity.js";
import {
  peopleIn,
  roleMeant,
  rowsIn,
  rowsOfFile,
  textOfRows,
} from "../../../web/state/invitees.js";
import {
  csvOf,
  freshSecret,
  isSignedBy,
  keepTitle,
  knownEvents,
  signAgain,
  signInWith,
  signToken,
  withUser,
} from "../../../web/state/keys.js";
import { qrOf, svgOf } from "../../../web/state/qr.js";
import {
  defaultRoles,
  isModeratorIdle,
  isTicked,
  otherTraits,
  rolesOf,
  rolesWith,
  ruleFor,
  ruleWith,
  ticksOf,
  toggled,
  traitsOfRole,
  withModerator,
} from "../../../web/state/roles.js";
import { keyOf, tokenOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";

const key = keyOf("demo");
const NOW = Math.floor(Date.now() / 1000);
const options = {
  uid: "ada",
  name: "Ada Lovelace 🎩",
  traits: ["speaker", "Größe"],
  expires: NOW + 3600,
};

void t.test("a signed token is one that a library accepts", async (t) => {
  const claims = { iss: key.issuer, aud: key.audience, exp: NOW + 3600 };
  const token = signToken({ ...claims, traits: options.traits }, key.secret);
  const verify = createVerifier({
    key: key.secret,
    algorithms: ["HS256"],
    allowedIss: key.issuer,
    allowedAud: key.audience,
    requiredClaims: ["exp"],
  });
  t.same(verify(token), { ...claims, traits: options.traits });
  t.notMatch(token, /[=+/]/);
});

void t.test("a secret is compared by its bytes", async (t) => {
  const secret = "ein Schlüssel mit Umlauten und 🎩 darin";
  const token = signToken({ exp: 1 }, secret);
  t.ok(isSignedBy(token, secret));
  t.notOk(isSignedBy(token, `${secret}!`));
  t.ok(isSignedBy(tokenOf(key), key.secret));
  t.notOk(isSignedBy("", key.secret));
});

void t.test("another key signs the same claims again", async (t) => {
  const other = keyOf("other");
  const token = tokenOf(key, { uid: "ada" });
  const again = signAgain(token, other);
  t.ok(isSignedBy(again, other.secret));
  t.same(claimsOf(again), { ...claimsOf(token), iss: other.issuer, aud: other.audience });
});

void t.test("a fresh secret is 64 hexadecimal characters", async (t) => {
  t.match(freshSecret(), /^[0-9a-f]{64}$/);
  t.not(freshSecret(), freshSecret());
});

void t.test("cells of tables that are split elsewhere", async (t) => {
  const table: [text: string, cell: string][] = [
    ["x;=cmd|' /C calc'!A0;y", `"x;'=cmd|' /C calc'!A0;y"`],
    ["x\t@SUM(A1)", `"x\t'@SUM(A1)"`],
    ['x; "=1"', `"x;' ""=1"""`],
    ["x\n+1", `"x\n'+1"`],
    ["a;b", `"a;b"`],
    ["1-2=3", "1-2=3"],
  ];
  for (const [text, cell] of table) {
    t.equal(csvOf([[text]]), `${cell}\r\n`);
  }
});

void t.test("a table for spreadsheets", async (t) => {
  t.equal(
    csvOf([
      ["Name", 'a "b"'],
      ["=1+1", "x,y"],
    ]),
    'Name,"a ""b"""\r\n\'=1+1,"x,y"\r\n',
  );
});

void t.test("a QR code has its finder patterns, and a quiet zone", async (t) => {
  const { size, path } = qrOf("https://x.example/#token=abc")!;
  t.match(path, /^M4 4h1v1h-1z/, "the corner of a finder, behind four modules");
  t.notMatch(path, /M3 /);
  t.match(path, new RegExp(`M${size - 5} 4h1`));
  t.match(svgOf({ size, path }), `viewBox="0 0 ${size} ${size}"`);
  t.equal(qrOf("x".repeat(3000)), undefined);
});

void t.test("what may sign in", async (t) => {
  const token = tokenOf(key, { uid: "ada" });
  const anonymous = tokenOf(key, { uid: undefined });
  const old = tokenOf(key, { exp: NOW - 1 });
  const cases = [
    [token, { token }],
    [`  ${token}\n`, { token }],
    [`https://x.example/w/demo/console#token=${token}`, { token }],
    ["", { problem: "empty" }],
    ["https://x.example/#/rooms", { problem: "malformed" }],
    ["nonsense", { problem: "malformed" }],
    [`#token=${old}`, { token: old }],
    [anonymous, { token: anonymous }],
  ] as const;
  for (const [text, answer] of cases) t.same(signInWith(text), answer);
});

void t.test("holders of the keys can give a token a user", async (t) => {
  const { baseUrl } = await startServer(t);
  const as = (token: string) => new Foyer({ baseUrl, world: "demo", token });
  const upgrade = (token: string) => withUser(token, as(token));

  const admin = tokenOf(key, { traits: ["admin", "api"] });
  const signed = await upgrade(admin);
  t.match(claimsOf(signed!), {
    uid: /^host-[0-9a-f]{10}$/,
    traits: ["admin", "api"],
    exp: claimsOf(admin)!["exp"],
  });
  const live = new Live({ baseUrl, world: "demo", token: signed! });
  t.teardown(() => live.close());
  t.ok((await live.connected()).permissions.includes("world:secrets"));

  const named = tokenOf(key, { uid: 7 });
  t.equal(await upgrade(named), named);
  t.equal(await upgrade(tokenOf(key)), undefined);
});

const guest = { trait: null };
const [, attendee, speaker] = defaultRoles;

void t.test("roles in a config", async (t) => {
  t.equal(rolesOf(undefined), defaultRoles);
  const vip = { trait: "vip", title: "VIP" };
  const rows: [config: unknown, roles: unknown][] = [
    [[], [guest]],
    [[vip], [guest, vip]],
    [
      [vip, { trait: null, title: "Visitor" }],
      [{ ...guest, title: "Visitor" }, vip],
    ],
    [
      [vip, { ...vip, title: "Again" }],
      [guest, vip],
    ],
    [[null, 1, { title: "No trait" }, { trait: "" }, { trait: 3 }], [guest]],
  ];
  for (const [config, roles] of rows) t.same(rolesOf(config), roles);
});

void t.test("rules that ticks can show", async (t) => {
  const rows: [rule: Rule, ticks: unknown][] = [
    [[], "everyone"],
    [["admin"], ["admin"]],
    [[["a", "b"]], ["a", "b"]],
    [[[]], []],
    [["admin", "api"], undefined],
    [[["a", "b"], "c"], undefined],
  ];
  for (const [rule, ticks] of rows) {
    t.same(ticksOf(rule), ticks);
    const shown = ticksOf(rule);
    if (shown) t.same(ruleWith(shown), rule, "it reads back as it was");
  }
});

void t.test("a tick changes what it says, and nothing else", async (t) => {
  const traits = ["attendee", "speaker", "moderator", "admin", "vip"];
  const anyRule = fc.oneof(
    fc.constant<Rule>([]),
    fc.subarray(traits).map((list) => ruleWith(list)),
  );
  fc.assert(
    fc.property(
      anyRule,
      fc.constantFrom(...defaultRoles.slice(1)),
      fc.boolean(),
      (rule, role, isOn) => {
        const ticks = ticksOf(rule)!;
        const next = ruleWith(toggled(ticks, role, isOn, defaultRoles));
        const lets = (rule: Rule, ...traits: string[]) => holds(rule, new Set(traits));
        if (lets(next, role.trait!) !== isOn) return false;
        return traits.every(
          (trait) =>
            trait === role.trait ||
            lets(next, trait) === lets(rule, trait) ||
            // Under a rule for everyone, traits that are not roles have no checkbox.
            (trait === "vip" && ticks === "everyone"),
        );
      },
    ),
  );
  t.equal(toggled(["a"], guest, true, defaultRoles), "everyone");
  t.same(toggled("everyone", guest, false, [guest, attendee!, speaker!]), ["attendee", "speaker"]);
  t.notOk(isTicked(["attendee"], guest));
  t.same(otherTraits(["attendee", "vip"], defaultRoles), ["vip"]);
});

void t.test("the rule that counts", async (t) => {
  const world = { "chat.moderate": ["mod"], "room.view": ["a"] };
  t.same(ruleFor("room.view", world, { "room.view": [] }), []);
  t.same(ruleFor("room.view", world, {}), ["a"]);
  t.same(ruleFor("poll.results", world), ["mod"], "by way of two keys");
  t.same(ruleFor("chat.send", world), []);
  t.same(ruleFor("world.secrets", world), [[]]);
  t.same(ruleFor("their.own", world), [[]]);
});

void t.test("hosts who open the console may use the API", async (t) => {
  const host = { trait: "admin" };
  const both = (traits: readonly string[]) => traits.includes("admin") && traits.includes("api");
  t.same(traitsOfRole(host), ["admin"]);
  t.same(traitsOfRole(host, true, both), ["admin", "api"]);
  t.same(traitsOfRole({ trait: "speaker" }, true, both), ["speaker"]);
  t.same(traitsOfRole(guest), []);
});

void t.test("a list of people", async (t) => {
  const people = (text: string) =>
    peopleIn(rowsIn(text)).people.map(({ name, email, role, language }) =>
      [name, email, role, language].join("|"),
    );
  for (const [what, text, expected] of [
    ["names only", "Ada Lovelace\nAlan Turing\n", ["Ada Lovelace|||", "Alan Turing|||"]],
    ["and addresses", "Ada; ada@x.org\n\nAlan;", ["Ada|ada@x.org||", "Alan|||"]],
    [
      "columns by name, in any order",
      "Role,E-Mail,Full Name,Language,T-shirt\nSpeaker,ada@x.org,Ada,de,M\n,,Alan,,",
      ["Ada|ada@x.org|Speaker|de", "Alan|||"],
    ],
    [
      "German headings, first and last names",
      "Vorname;Nachname;E-Mail-Adresse;Rolle;Sprache\nGrace;Hopper;g@x.org;Moderation;de",
      ["Grace Hopper|g@x.org|Moderation|de"],
    ],
    [
      "as Luma exports it",
      "api_id,name,first_name,last_name,email,ticket_name\ng-1,Ada L,Ada,L,ada@x.org,VIP",
      ["Ada L|ada@x.org|VIP|"],
    ],
    ["only addresses", "email\nada@x.org", ["|ada@x.org||"]],
    ["quotes and tabs", '\uFEFF"Name"\t"role"\r\n"A ""B"""\tspeaker', ['A "B"||speaker|']],
    ["nothing", " \n;;\n", []],
  ] as const) {
    t.same(people(text), expected, what);
  }
  const { unused, roles } = peopleIn(rowsIn("name,role,Hat\na,X,1\nb,Y,2\nc,X,3\nd,,4"));
  t.same([unused, roles], [["Hat"], ["X", "Y"]], "nothing is ignored without a word");
  t.same(
    peopleIn([["name"], ["a"], ["b"]]).people.map(({ row }) => row),
    [2, 3],
  );
  const titled = [
    { trait: "speaker", titles: ["Speaker", "Mitwirkende"] },
    { trait: "admin", titles: ["Host"] },
  ];
  const meant = ["SPEAKER", " mitwirkende ", "host", "admin", "Vip", ""];
  t.same(
    meant.map((it) => roleMeant(it, titled)),
    ["speaker", "speaker", "admin", "admin", undefined, undefined],
  );
  const odd = [
    ["a\tb", 'c"d'],
    ["e\nf", ""],
  ];
  t.same(rowsIn(textOfRows(odd))[0], ["a\tb", 'c"d']);
});

void t.test("files with a list of people", async (t) => {
  const bytes = (...codes: number[]) => new Uint8Array(codes);
  const latin = new Blob([bytes(...Buffer.from("name;role\nG\u00fcnther;x", "latin1"))]);
  t.same(
    await rowsOfFile(latin),
    [
      ["name", "role"],
      ["Günther", "x"],
    ],
    "Windows-1252",
  );
  t.same(await rowsOfFile(new Blob(["name\nGünther"])), [["name"], ["Günther"]], "UTF-8");
  const old = new Blob([bytes(0xd0, 0xcf, 0x11, 0xe0, 0, 0)]);
  await t.rejects(rowsOfFile(old), { message: /old Excel file/ });
  await t.rejects(rowsOfFile(new Blob([bytes(0x50, 0x4b, 3, 4, 0)])), { message: /damaged/ });
});

void t.test("the events that this browser has a link for", async (t) => {
  const shelf = memoryShelf();
  const now = Date.now();
  const names: string[] = [];
  const keep = (name: string, value: string) => {
    names.push(name);
    shelf.setItem(name, value);
  };
  const seconds = Math.floor(now / 1000);
  keep("foyer:b:console:token", tokenOf(keyOf("b"), { exp: seconds + 60 }));
  keep("foyer:a:console:token", tokenOf(keyOf("a"), { exp: seconds + 60 }));
  keep("foyer:old:console:token", tokenOf(keyOf("old"), { exp: seconds - 60 }));
  keep("foyer:bad:console:token", "nonsense");
  keep("foyer:c:attend:token", tokenOf(keyOf("c")));
  keepTitle(shelf, "a", "Zebra");
  t.same(knownEvents(shelf, names, now), [
    { id: "b", title: "b" },
    { id: "a", title: "Zebra" },
  ]);
});

void t.test("people have roles", async (t) => {
  const rows: [traits: string[], roles: unknown[], others: string[]][] = [
    [[], [guest], []],
    [["admin", "api"], [{ trait: "admin" }], []],
    [["speaker", "attendee"], [attendee, speaker], []],
    [["vip", "attendee"], [attendee], ["vip"]],
    [["vip"], [], ["vip"]],
    [["api"], [], ["api"]],
  ];
  for (const [traits, roles, others] of rows) {
    t.same(rolesWith(traits, defaultRoles), { roles, others }, traits.join());
  }
});

void t.test("moderators get the rights of a new event", async (t) => {
  const plain = defaultPermissionConfig;
  t.ok(isModeratorIdle(defaultRoles, plain));
  const moderated = withModerator(plain, defaultRoles);
  t.same(moderated, { ...plain, ...moderatorRules });
  t.notOk(isModeratorIdle(defaultRoles, moderated));
  t.notOk(isModeratorIdle([guest, speaker!], plain), "there is no such role");
  const own = { ...plain, "poll.manage": [["moderator"]] };
  t.notOk(isModeratorIdle(defaultRoles, own), "a host chose their rights");
  const both = { ...plain, "user.manage": ["admin", "api"] };
  t.same(withModerator(both, defaultRoles)["user.manage"], ["admin", "api"]);
});
