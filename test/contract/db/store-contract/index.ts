import type { Test } from "tap";
import { resources } from "../../../support/resources.js";
import { auditContract } from "./audit.js";
import { callContract } from "./calls.js";
import { captionContract } from "./captions.js";
import { chatContract, chatTraceContract } from "./chat.js";
import { copyContract } from "./copies.js";
import { editContract } from "./edits.js";
import { fileContract } from "./files.js";
import { lifetimeContract, placeContract } from "./lifetime.js";
import { logContract } from "./log.js";
import { moderationContract } from "./moderation.js";
import { pollKindContract } from "./poll-kinds.js";
import { pollContract, voteContract } from "./polls.js";
import { attendanceContract, programContract } from "./program.js";
import { ratingContract } from "./ratings.js";
import { questionContract } from "./questions.js";
import { roomContract } from "./rooms.js";
import { contractOn, type Place } from "./setup.js";
import { userContract, userSearchContract } from "./users.js";
import { worldContract } from "./worlds.js";

/** The store contract by subject: its rows, and its entries in the log. */
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
  pollKindContract,
  programContract,
  ratingContract,
  moderationContract,
  captionContract,
  editContract,
  attendanceContract,
  callContract,
  auditContract,
  placeContract,
  lifetimeContract,
  copyContract,
  logContract,
  ...resources.flatMap(({ contract }) => contract ?? []),
];

/** Tests that an implementation keeps the contract of `db/contract/store.ts`. */
export async function storeContract(t: Test, place: Place): Promise<void> {
  for (const part of parts) await part(contractOn(t, place));
}
