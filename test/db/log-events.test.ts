import t from "tap";
import { logContract } from "./log-contract.js";

void t.test("between workers", (t) => logContract(t));

void t.test("by a bus that drops everything", (t) => logContract(t, "nothing"));
