import type { Channel, PublicUser, SentEvent } from "../../client/index.js";
import { memberIn, mentionsIn, reactionsIn, saidIn } from "./chat-content.js";
import type { People } from "./people.js";

/** How many reacting or mentioned users of a message get their names fetched. */
const MAX_NAMED = 20;

/** The users whose names the events of a chat need. */
function usersIn(events: readonly SentEvent[]): Set<string> {
  const ids = new Set<string>();
  for (const event of events) {
    const { sender, content } = event;
    if (sender) ids.add(sender);
    const member = event.event_type === "channel.member" && memberIn(event);
    if (member) ids.add(member.id);
    const said = saidIn(content);
    const body = said.is === "text" || said.is === "files" ? said.body : "";
    for (const id of mentionsIn(body).slice(0, MAX_NAMED)) ids.add(id);
    for (const [, users] of reactionsIn(event)) {
      for (const id of users.slice(0, MAX_NAMED)) ids.add(id);
    }
  }
  return ids;
}

/** Collects the users of a channel, from the events or by requests. */
export class ChatPeople {
  readonly #people: People;
  readonly #channel: Channel;
  /** The last state of each user that the server sent. */
  readonly #told = new Map<string, PublicUser>();

  constructor(people: People, channel: Channel) {
    this.#people = people;
    this.#channel = channel;
  }

  /** @param me the own user, which the session knows better. */
  meet(events: readonly SentEvent[], me: string | undefined): void {
    const ids = usersIn(events);
    const told: PublicUser[] = [];
    for (const id of ids) {
      const user = this.#channel.users.get(id);
      if (!user || user === this.#told.get(id)) continue;
      this.#told.set(id, user);
      if (id !== me) told.push(user);
    }
    if (told.length > 0) this.#people.add(told);
    this.#people.want(ids);
  }
}
