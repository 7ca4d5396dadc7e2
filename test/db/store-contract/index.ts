import type { Test } from "tap";
import { absentContract } from "./absent.js";
import { announcementContract } from "./announcements.js";
import { attendanceContract } from "./attendance.js";
import { chatCopyContract } from "./chat-copies.js";
import { chatDirectContract } from "./chat-direct.js";
import { chatErasingContract } from "./chat-erasing.js";
import { chatEventContract } from "./chat-events.js";
import { chatMemberContract } from "./chat-members.js";
import { chatRaceContract } from "./chat-races.js";
import { chatReaderContract } from "./chat-readers.js";
import { chatSenderContract } from "./chat-senders.js";
import { enteringContract } from "./entering.js";
import { fileContract } from "./files.js";
import { logChatContract } from "./log-chat.js";
import { logVoteContract } from "./log-votes.js";
import { logWorldContract } from "./log-worlds.js";
import { logContract } from "./log.js";
import { knownUserContract } from "./known-users.js";
import { lifetimeContract } from "./lifetime.js";
import { roomExtraContract } from "./room-extras.js";
import { roomListContract } from "./room-lists.js";
import { roomContract } from "./rooms.js";
import { pollContract } from "./polls.js";
import { programContract } from "./program.js";
import { logProgramContract } from "./log-program.js";
import { questionContract } from "./questions.js";
import { contractOn, type Place } from "./setup.js";
import { hostContract } from "./hosts.js";
import { roomFilterContract } from "./room-filters.js";
import { roomOrderContract } from "./room-order.js";
import { voteContract } from "./votes.js";
import { uploadContract } from "./uploads.js";
import { valueContract } from "./values.js";
import { orderContract } from "./orders.js";
import { settingContract } from "./settings.js";
import { placeContract } from "./places.js";
import { userSearchContract } from "./user-search.js";
import { userContract } from "./users.js";
import { versionContract } from "./versions.js";
import { voteCopyContract } from "./vote-copies.js";
import { worldCopyContract } from "./world-copies.js";
import { worldLineContract } from "./world-lines.js";
import { webhookContract } from "./webhooks.js";
import { worldContract } from "./worlds.js";

/** What a store answers. */
export const answers = [
  worldContract,
  hostContract,
  roomContract,
  roomListContract,
  versionContract,
  valueContract,
  userContract,
  fileContract,
  placeContract,
  uploadContract,
  absentContract,
  enteringContract,
  orderContract,
  settingContract,
  roomExtraContract,
  knownUserContract,
  userSearchContract,
  announcementContract,
  webhookContract,
  chatEventContract,
  chatMemberContract,
  chatSenderContract,
  chatReaderContract,
  chatDirectContract,
  chatErasingContract,
  questionContract,
  pollContract,
  voteContract,
  programContract,
];

/** What it writes to the log, and what happens to copies, in races and at ends. */
export const traces = [
  worldCopyContract,
  worldLineContract,
  voteCopyContract,
  roomFilterContract,
  roomOrderContract,
  lifetimeContract,
  attendanceContract,
  chatRaceContract,
  chatCopyContract,
  logContract,
  logWorldContract,
  logChatContract,
  logVoteContract,
  logProgramContract,
];

/**
 * What every store keeps to, whatever it is made of: `db/contract/store.ts` as tests.
 * @param parts of it; all by default.
 */
export async function storeContract(
  t: Test,
  place: Place,
  parts = [...answers, ...traces],
): Promise<void> {
  for (const part of parts) await part(contractOn(t, place));
}
