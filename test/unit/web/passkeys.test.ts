import t from "tap";
import {
  deviceName,
  endsSoon,
  hasPasskeys,
  hasWay,
  isRecovery,
  problemOf,
} from "../../../web/state/passkeys.js";

const tokenOf = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;

void t.test("where passkeys can work", async (t) => {
  const page = { world: "demo", passkeys: "events.example.org", embed: null };
  const window = {
    isSecureContext: true,
    location: { hostname: "events.example.org" },
    PublicKeyCredential: {},
  };
  t.ok(hasPasskeys(page, window));
  const others: Record<string, [Partial<typeof page> | object, object]> = {
    "without an event": [{ world: null }, {}],
    "at an address without a name": [{ passkeys: null }, {}],
    "in a frame": [{ embed: "" }, {}],
    "at another host than the server's": [{}, { location: { hostname: "other.example.org" } }],
    "on an insecure page": [{}, { isSecureContext: false }],
    "in an old browser": [{}, { PublicKeyCredential: undefined }],
  };
  for (const [name, [pageChanges, windowChanges]] of Object.entries(others)) {
    const found = hasPasskeys({ ...page, ...pageChanges }, { ...window, ...windowChanges });
    t.notOk(found, `not ${name}`);
  }
});

void t.test("why a ceremony did not succeed", async (t) => {
  const problems: [object, string | undefined][] = [
    [{ name: "NotAllowedError" }, "canceled"],
    [{ name: "AbortError" }, "canceled"],
    [{ name: "InvalidStateError" }, "known"],
    [{ name: "FoyerError", status: 401 }, "unknown"],
    [{ name: "FoyerError", status: 403 }, "unknown"],
    [{ name: "FoyerError", status: 429 }, undefined],
    [{ name: "TypeError" }, undefined],
  ];
  for (const [error, problem] of problems) t.equal(problemOf(error), problem);
});

void t.test("a device has a name that people recognize", async (t) => {
  const agents = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0":
      "Edge, Windows",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1":
      "Safari, iPhone",
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0": "Firefox, Linux",
    "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36":
      "Chrome, Android",
    "": "Passkey",
  };
  for (const [agent, name] of Object.entries(agents)) t.equal(deviceName(agent), name);
});

void t.test("a session that ends soon", async (t) => {
  const day = 24 * 3600;
  const now = 1_800_000_000;
  const token = (lifetime: number, left: number) =>
    tokenOf({ iat: now + left - lifetime, exp: now + left });
  const rows: [lifetime: number, left: number, isSoon: boolean][] = [
    [30 * day, 3 * day + 1, false],
    [30 * day, 3 * day, true],
    [3650 * day, 3 * day, true],
    [12 * 3600, 2 * 3600, false],
    [12 * 3600, 3600, true],
    [12 * 3600, 0, false],
    [12 * 3600, -60, false],
  ];
  for (const [lifetime, left, isSoon] of rows) {
    const expected = isSoon ? (now + left) * 1000 : undefined;
    t.equal(endsSoon(token(lifetime, left), now * 1000), expected, `${left} of ${lifetime} s`);
  }
  t.equal(endsSoon(undefined, 0), undefined, "a guest's never does");
  t.equal(endsSoon(tokenOf({ exp: now + 1 }), now * 1000), undefined, "without a beginning");
});

void t.test("ways back", async (t) => {
  const none = { passkeys: 0, email: false, mail: true, recovery: false, invitation: null };
  t.notOk(hasWay(none));
  t.ok(hasWay({ ...none, passkeys: 1 }));
  t.ok(hasWay({ ...none, email: true }));
  t.ok(hasWay({ ...none, recovery: true }));
  const id = "0b6bd7f0-6a0f-4d0b-8a3c-2d3f9d1d7f55";
  t.ok(isRecovery(tokenOf({ jti: `${id}.r3` })));
  for (const jti of [`${id}.l3`, `${id}.s1`, undefined, 7]) t.notOk(isRecovery(tokenOf({ jti })));
  t.notOk(isRecovery(undefined));
});
