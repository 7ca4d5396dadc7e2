import t from "tap";
import { linkTo, routeOf } from "../../web/state/route.js";

void t.test("routes of addresses", async (t) => {
  const rows: [hash: string, route: string[]][] = [
    ["", []],
    ["#", []],
    ["#/", []],
    ["#main", []],
    ["#token=x", []],
    ["#/profile", ["profile"]],
    ["#/rooms/a%2Fb/", ["rooms", "a/b"]],
    ["#/rooms/%zz", ["rooms", "%zz"]],
  ];
  for (const [hash, route] of rows) t.same(routeOf(hash), route, hash);
  t.same(routeOf(linkTo("rooms", "a/b ü")), ["rooms", "a/b ü"]);
});
