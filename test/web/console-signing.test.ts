import { createVerifier } from "fast-jwt";
import t from "tap";
import { Foyer, Live } from "../../client/index.js";
import { memoryShelf } from "../../web/lib/storage.js";
import { qrOf, svgOf } from "../../web/state/qr.js";
import { signInWith, withUser } from "../../web/state/signin.js";
import { csvOf, MadeLinks } from "../../web/state/links.js";
import {
  fingerprintOf,
  freshSecret,
  isSignedBy,
  signAgain,
  signToken,
} from "../../web/state/signing.js";
import { claimsOf } from "../../web/state/identity.js";
import { keyOf, listen, serve, tokenOf } from "../helper.js";

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
  t.same(claimsOf(again), {
    ...claimsOf(token),
    ...{ iss: other.issuer, aud: other.audience },
  });
});

void t.test("a fresh secret is 64 hexadecimal characters", async (t) => {
  t.match(freshSecret(), /^[0-9a-f]{64}$/);
  t.not(freshSecret(), freshSecret());
  t.not(fingerprintOf(key.secret), fingerprintOf("another"));
  t.notMatch(key.secret, fingerprintOf(key.secret));
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

void t.test(
  "a QR code has its finder patterns, and a quiet zone",
  async (t) => {
    const { size, path } = qrOf("https://x.example/#token=abc")!;
    t.match(
      path,
      /^M4 4h1v1h-1z/,
      "the corner of a finder, behind four modules",
    );
    t.notMatch(path, /M3 /);
    t.match(path, new RegExp(`M${size - 5} 4h1`));
    t.match(svgOf({ size, path }), `viewBox="0 0 ${size} ${size}"`);
    t.equal(qrOf("x".repeat(3000)), undefined);
  },
);

void t.test("made links are remembered without their token", async (t) => {
  const shelf = memoryShelf();
  const links = new MadeLinks(shelf, "demo");
  links.add([options], key, NOW);
  links.add([{ ...options, uid: "old", expires: NOW - 1 }], key, NOW - 10);
  const kept = shelf.getItem("foyer:demo:console:links")!;
  t.notMatch(kept, /eyJ/);
  t.notMatch(kept, key.secret);

  const again = new MadeLinks(shelf, "demo");
  t.match(again.signedBy(key.secret, NOW), [{ uid: "ada" }]);
  t.same(again.signedBy(keyOf("other").secret, NOW), []);
  again.forget(again.signedBy(key.secret, NOW)[0]!);
  t.same(again.signedBy(key.secret, NOW), []);

  again.forgetAll();
  t.equal(shelf.getItem("foyer:demo:console:links"), "[]");

  shelf.setItem("foyer:demo:console:links", '[{"uid":1},null]');
  t.same(new MadeLinks(shelf, "demo").signedBy(key.secret, NOW), []);
});

void t.test("thousands of links are written at once", async (t) => {
  const shelf = memoryShelf();
  let written = 0;
  const links = new MadeLinks(
    {
      ...shelf,
      setItem(name, value) {
        written++;
        shelf.setItem(name, value);
      },
    },
    "demo",
  );
  const crowd = Array.from({ length: 5000 }, (_, at) => ({
    ...options,
    uid: String(at),
  }));
  links.add(crowd, key, NOW);
  t.equal(written, 1);
  const kept = links.signedBy(key.secret, NOW);
  t.equal(kept.length, 1000, "as many as are remembered");
  t.equal(kept[0]!.uid, "4999", "the newest first");
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
  const { app } = await serve(t);
  const baseUrl = `http://127.0.0.1:${await listen(app)}`;
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
