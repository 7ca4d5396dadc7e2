import t from "tap";
import { place } from "./sqlite-place.js";
import { storeContract, traces } from "./store-contract/index.js";

void t.test("SQLite", (t) => storeContract(t, place, traces));
