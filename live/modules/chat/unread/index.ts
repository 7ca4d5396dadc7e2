/**
 * Read marks, and the notices about unread messages.
 *
 * A room full of people reads every message, so neither a message nor a mark writes a row
 * for each of them. Two numbers decide whether a message makes a push:
 *
 * - `listed`, of a user in a channel: the event with which the user came onto its unread
 *   list, by joining or by marking the channel as read.
 * - `previousMessage`, of a message: the one before it in its channel.
 *
 * A user whose `listed` is at least the previous message has not got a push about this
 * channel since they marked it. They get one, `chat.unread_pointers`, and leave the list.
 * All others have got one, and the message costs nothing for them.
 *
 * The parts, from pushes to storage:
 *
 * - `notices.ts` gets each event after its subscribers. It has, by channel, the connected users
 *   who are on its unread list, and sends the pushes about one new message: to that list, to
 *   members of a direct channel, and to users that it mentions.
 * - `own-channels.ts` sends users the list of their channels when it changes, and
 *   `channel-list.ts` makes it. A notice about a direct channel waits until the user has
 *   a list with that channel.
 * - `read-states.ts` has all of them: it handles logins, marks and changes of memberships.
 *   `read-state.ts` is one user: how far each channel is read, and the unread notifications.
 *   All connections of a user in this process share it. While it is being loaded, changes
 *   are queued, and applied afterwards.
 * - `marks.ts` keeps how far users have read until it is written, and tells the other processes
 *   at once. `mark-writer.ts` writes marks together, when their users leave or every ten
 *   seconds. `mark.ts` is the form of one mark. If a process ends, the
 *   others write its marks; `guardian.ts` names the one that gets them when no other
 *   process follows the world.
 * - `commands.ts` has the command that marks a channel as read.
 *
 * A mark in memory may be newer than the store, so a login reads the store and then
 * applies the marks that are not written yet.
 */
export { type ReadStatePorts, ReadStates } from "./read-states.js";
