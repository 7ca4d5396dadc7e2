/**
 * Read marks, and the notices about unread messages.
 *
 * **Marks.** A mark says how far a user has read a channel. The larger one wins, so a mark may be
 * applied twice, late, and in any order. `chat.mark_read` applies it to the user in this process at
 * once (`read-state.ts`, which all connections of the user share), and gives it to `marks.ts`, which
 * writes the marks of all users together, about once a second. Each write appends an entry
 * `chat.marked`, from which every process applies the marks to the users it serves: the process that
 * made them changes nothing by that. A login reads the store, and then the marks that this process
 * has not written.
 *
 * **Notices.** A room full of people reads every message, so a message writes no row for each of
 * them. Two numbers decide whether it makes a push:
 *
 * - `listed`, of a user in a channel: the event with which the user came onto its unread
 *   list, by joining or by marking the channel as read.
 * - `previousMessage`, of a message: the one before it in its channel.
 *
 * A user whose `listed` is at least the previous message has not got a push about this
 * channel since they marked it. They get one, `chat.unread_pointers`, and leave the list.
 * All others have got one, and the message costs nothing for them.
 *
 * The counts of `chat.notification_counts` are those of stored notifications: messages of direct
 * channels and mentions. A mark removes them up to its event.
 *
 * The parts: `read-states.ts` handles logins, marks, and changes of memberships. `notices.ts` gets
 * each event after its subscribers. It has, by channel, the connected users who are on its unread
 * list, and sends the pushes about one new message. `own-channels.ts` sends users the list of their
 * channels when it changes, which `channel-list.ts` makes; a notice about a direct channel waits
 * until the user has a list with that channel. `commands.ts` has the command.
 */
export { type ReadStatePorts, ReadStates } from "./read-states.js";
