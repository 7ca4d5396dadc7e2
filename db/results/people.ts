import type { ListedUser, Store } from "../contract/store.js";
import { allUsers, results, timeOf } from "./results.js";

const COLUMNS = [
  "id",
  "token_id",
  "display_name",
  "traits",
  "moderation_state",
  "last_login",
  "last_seen",
] as const;

const toPerson = ({ id, token_id, ...user }: ListedUser) => {
  const name = user.profile?.display_name;
  return {
    id,
    token_id,
    display_name: typeof name === "string" ? name : null,
    traits: user.traits,
    moderation_state: user.moderation_state || "none",
    last_login: user.last_login === null ? null : timeOf(user.last_login),
    last_seen: timeOf(user.last_seen),
  };
};

type Person = ReturnType<typeof toPerson>;

async function* peopleOf(store: Store, world: string): AsyncGenerator<Person> {
  for await (const user of allUsers(store, world)) yield toPerson(user);
}

/** The users of a world, the first created first. */
export const people = results({
  inWorld: ["user.list"],
  columns: COLUMNS,
  rowsOf: (person: Person) => [{ ...person, traits: person.traits.join(", ") }],
  records: peopleOf,
});
