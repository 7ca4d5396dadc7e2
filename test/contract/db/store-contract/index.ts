import type { Test } from "tap";
import { chatContract, chatTraceContract } from "./chat.js";
import { copyContract } from "./copies.js";
import { fileContract } from "./files.js";
import { lifetimeContract, placeContract } from "./lifetime.js";
import { logContract } from "./log.js";
import { pollContract, voteContract } from "./polls.js";
import { attendanceContract, programContract } from "./program.js";
import { questionContract } from "./questions.js";
import { roomContract } from "./rooms.js";
import { contractOn, type Place } from "./setup.js";
import { userContract, userSearchContract } from "./users.js";
import { webhookContract } from "./webhooks.js";
import { worldContract } from "./worlds.js";

/** The contract of a store, by subjects: the rows that it keeps, and what it writes to the log. */
const parts = [
  worldContract,
  roomContract,
  userContract,
  userSearchContract,
  fileContract,
  chatContract,
  chatTraceContract,
  questionContract,
  pollContract,
  voteContract,
  programContract,
  attendanceContract,
  webhookContract,
  placeContract,
  lifetimeContract,
  copyContract,
  logContract,
];

/** What every store keeps to, whatever it is made of: `db/contract/store.ts` as tests. */
export async function storeContract(t: Test, place: Place): Promise<void> {
  for (const part of parts) await part(contractOn(t, place));
}
