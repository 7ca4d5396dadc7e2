import type { Commands } from "../../schemas/live/index.js";

const user = { id: "0b7a7d5e-9f2b-4f3c-8a51-6f6f0c9f5a10" };
const room = { room: "5ad5b0a4-2d0c-4c63-a2a8-1c63b3f0a9d7" };
const channel = { channel: room.room };
const announcement = "8f0d5c0e-6f0a-4f49-9d55-1f0e6d2c7b31";

const question = "6c1e2f34-73a4-4f0e-8d15-0a9f2b6f7c21";
const poll = "2f4b9a63-1c0d-4e72-9b38-5d6a7e8f9012";
const option = "d1c7e5a8-0b3f-4c96-a2d4-7e1f3b5a6c80";

/** A payload of each command, which the AsyncAPI document shows. */
export const examples: { [N in keyof Commands]: Commands[N]["payload"] } = {
  "user.update": { profile: { display_name: "Ada", greeted: true } },
  "user.admin.update": { ...user, profile: { display_name: "Ada" } },
  "user.fetch": { ids: [user.id] },
  "user.list": null,
  "user.list.search": { search_term: "ada", page: 1 },
  "user.online_status": { ids: [user.id] },
  "user.ban": user,
  "user.silence": user,
  "user.reactivate": user,
  "user.delete": user,
  "user.block": user,
  "user.unblock": user,
  "user.list.blocked": null,
  "exhibition.get.staffed_by_user": { user_id: user.id },
  "world.config.get": null,
  "world.config.patch": { title: "Summit 2027", connection_limit: 5 },
  "room.enter": room,
  "room.leave": room,
  "room.react": { ...room, reaction: "👏" },
  "room.create": {
    name: "Workshop",
    description: "",
    modules: [{ type: "chat.native", config: { volatile: true } }],
  },
  "room.delete": room,
  "room.config.get": room,
  "room.config.patch": { ...room, name: "Workshop A", force_join: true },
  "room.config.list": null,
  "room.config.reorder": [room.room],
  "room.schedule": { ...room, schedule_data: { title: "Opening" } },
  "announcement.create": { text: "Lunch is served.", state: "active" },
  "announcement.update": { id: announcement, state: "archived" },
  "announcement.list": null,
  "chat.subscribe": { ...channel, after: 1204 },
  "chat.unsubscribe": channel,
  "chat.join": channel,
  "chat.leave": channel,
  "chat.send": {
    ...channel,
    event_type: "channel.message",
    content: { type: "text", body: "Hello!" },
  },
  "chat.fetch": { ...channel, count: 25, before_id: 1205 },
  "chat.react": { ...channel, event: 1204, reaction: "👍" },
  "chat.mark_read": { ...channel, id: 1204 },
  "chat.direct.create": { users: [user.id] },
  "question.ask": { ...room, content: "When is lunch?" },
  "question.update": { ...room, id: question, state: "visible" },
  "question.delete": { ...room, id: question },
  "question.vote": { ...room, id: question, vote: true },
  "question.list": room,
  "question.pin": { ...room, id: question },
  "question.unpin": room,
  "poll.create": {
    ...room,
    content: "Tea or coffee?",
    options: [
      { content: "Tea", order: 1 },
      { content: "Coffee", order: 2 },
    ],
  },
  "poll.update": { ...room, id: poll, state: "open" },
  "poll.delete": { ...room, id: poll },
  "poll.vote": { ...room, id: poll, options: [option] },
  "poll.list": room,
  "poll.pin": { ...room, id: poll },
  "poll.unpin": room,
};
