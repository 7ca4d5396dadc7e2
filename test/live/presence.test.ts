import t from "tap";
import type { AnyEvent, Events, Listener } from "../../db/events.js";
import { Presence } from "../../live/presence.js";
import type { PresenceListener } from "../../live/whereabouts.js";
import { until } from "../helper.js";

/** Two processes whose events reach the other a moment later. */
function pair() {
  const listeners = new Map<string, Set<Listener>>();
  const eventsOf = (process: string): Events => {
    const own = new Set<Listener>();
    listeners.set(process, own);
    return {
      process,
      publish(event: AnyEvent) {
        for (const [name, all] of listeners) {
          const tell = () => all.forEach((listener) => listener(event));
          if (name === process) tell();
          else setTimeout(tell, 5);
        }
      },
      subscribe(listener: Listener) {
        own.add(listener);
        return () => own.delete(listener);
      },
    } as unknown as Events;
  };
  return ["one", "two"].map((name) => {
    const left: string[] = [];
    const listener: PresenceListener = {
      opened() {},
      entered() {},
      attended() {},
      left: (_world, _room, user) => left.push(user),
    };
    return { presence: new Presence(eventsOf(name), listener), left };
  });
}

const room = "room";

void t.test("a user who enters elsewhere stays in a room", async (t) => {
  const [one, two] = pair() as [
    ReturnType<typeof pair>[0],
    ReturnType<typeof pair>[0],
  ];
  t.teardown(() => [one, two].forEach(({ presence }) => presence.close()));
  const enter = (
    { presence }: typeof one,
    connection: string,
    user: string,
  ) => {
    presence.note("demo", { do: "open", connection, user, at: 1 });
    presence.note("demo", { do: "enter", connection, room });
  };
  const knows = (user: string) =>
    [one, two].every(({ presence }) =>
      presence.usersIn("demo", room).includes(user),
    );
  enter(one, "a", "ada");
  enter(one, "b", "bob");
  await until(async () => knows("ada") && knows("bob"));
  // The other process has yet to tell of it.
  enter(two, "c", "ada");
  one.presence.note("demo", { do: "close", connection: "a" });
  one.presence.note("demo", { do: "close", connection: "b" });
  await until(async () => one.left.length > 0 && two.left.length > 0);

  t.same([one.left, two.left], [["bob"], ["bob"]]);
  two.presence.note("demo", { do: "close", connection: "c" });
  await until(async () => one.left.includes("ada") && two.left.includes("ada"));
});
