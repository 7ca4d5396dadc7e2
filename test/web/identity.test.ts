import t from "tap";
import { memoryShelf } from "../../web/lib/storage.js";
import {
  claimsOf,
  Identities,
  tokenOf,
  withoutToken,
} from "../../web/state/identity.js";

const claims = (value: unknown) =>
  `x.${Buffer.from(JSON.stringify(value)).toString("base64url")}.x`;

void t.test("the token of a link, and the link without it", async (t) => {
  const rows: [hash: string, token: string | undefined, rest: string][] = [
    ["", undefined, ""],
    ["#/rooms/a", undefined, "#/rooms/a"],
    ["#token=", undefined, "#token="],
    ["#token=a.b.c", "a.b.c", ""],
    ["#token=a.b.c&room=r%2F1", "a.b.c", "#/rooms/r%2F1"],
    ["#room=r&token=a.b.c", "a.b.c", "#/rooms/r"],
    ["#token=a.b.c&room=r&view=host", "a.b.c", "#/rooms/r/host"],
    ["#token=a.b.c&view=host", "a.b.c", ""],
  ];
  for (const [hash, token, rest] of rows) {
    t.equal(tokenOf(hash), token, hash);
    t.equal(withoutToken(hash), rest, hash);
  }
});

void t.test("the claims of a token, for display", async (t) => {
  t.match(claimsOf(claims({ uid: "zoë" })), { uid: "zoë" });
  for (const token of ["", "x", "x.%.x", "x.eA.x", claims(3), claims(null)]) {
    t.equal(claimsOf(token), undefined, token);
  }
});

void t.test("who a visitor is", async (t) => {
  const shelf = memoryShelf();
  const mine = new Identities(shelf, "demo", "attend");
  t.equal(mine.kept, undefined, "no identity at first");
  const guest = mine.guest();
  t.match(guest, { clientId: /^[0-9a-f]{32}$/ });
  t.same(mine.guest(), guest, "the same guest again");
  t.same(mine.kept, guest);

  mine.keepToken("cut");
  t.same(mine.kept, { token: "cut" }, "so that the page can say what is wrong");
  const [first, second] = [claims({ uid: "a" }), claims({ uid: "b" })];
  mine.keepToken(first);
  mine.keepToken(second);
  t.same(mine.kept, { token: second }, "the later token replaces");
  for (const damaged of ["cut", second.slice(0, 8)]) {
    mine.keepToken(damaged);
    t.same(mine.kept, { token: second }, "a damaged link signs no user out");
  }
  const others = [
    new Identities(shelf, "demo", "console"),
    new Identities(shelf, "other", "attend"),
  ];
  for (const other of others) t.equal(other.kept, undefined);

  mine.signOut();
  t.same(mine.kept, guest, "the guest of before comes back");
});
