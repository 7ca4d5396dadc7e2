import type { Locator } from "playwright-core";
import { host, me, type Furnished, roomNames, silentEngine } from "./furnish.js";
import type { Visitor, VisitorOptions, World } from "./kit.js";

/** A page state worth checking. */
export interface Stop {
  name: string;
  /** Navigates from the previous stop, and waits until this one is shown. */
  go(visitor: Visitor): Promise<unknown>;
  /** Closes whatever covers the page before the next stop. */
  leave?(visitor: Visitor): Promise<unknown>;
}

/** Stops that one user visits in order. */
export interface Tour {
  name: string;
  begin(world: World, options: VisitorOptions): Promise<Visitor>;
  stops(furnished: Furnished): Stop[];
}

const stop = (name: string, go: Stop["go"]): Stop => ({ name, go });

/** A stop that covers the page until Escape is pressed. */
const covering = (name: string, go: Stop["go"]): Stop => ({ name, go, leave: escape });

const escape = ({ page }: Visitor) => page.keyboard.press("Escape");

/** Sets the URL fragment. */
const route = ({ page }: Visitor, path: string) =>
  page.evaluate((path) => {
    location.hash = path;
  }, path);

const enter = async (visitor: Visitor, id: string, name: string) => {
  await route(visitor, `#/rooms/${id}`);
  await visitor.page.getByRole("heading", { name, level: 1 }).waitFor();
};

const main = ({ page }: Visitor): Locator => page.getByRole("main");
const article = (visitor: Visitor, text: string): Locator =>
  main(visitor).getByRole("article").filter({ hasText: text });

const tabOf = async (visitor: Visitor, name: string, text: string) => {
  await visitor.tab(name).click();
  await article(visitor, text).first().waitFor();
};

/** Waits until a visitor sees themselves before a call. */
const previewed = async ({ page }: Visitor) => {
  await page.getByLabel("Your picture").waitFor();
  await page.getByRole("meter", { name: "Microphone level" }).waitFor();
};

const caption = "<b>Maps</b> grow old, as we do.";

export const tours: readonly Tour[] = [
  {
    name: "guest",
    async begin(world, options) {
      const visitor = await world.visitor(options);
      await visitor.page.goto(world.attend);
      return visitor;
    },
    stops: () => [stop("welcome", (it) => it.button("Join").waitFor())],
  },
  {
    name: "attendee",
    begin: (world, options) => world.bearer(me, options),
    stops: ({ stage, hallway, session, call, quiz }) => [
      stop("lobby", async (it) => {
        await route(it, "#/");
        await it.page
          .locator(".lobby")
          .getByRole("link", { name: /^Hallway/ })
          .waitFor();
      }),
      stop("hallway", async (it) => {
        await enter(it, hallway, roomNames.hallway);
        await it.post("On my way!").waitFor();
      }),
      covering("message-actions", async (it) => {
        await it.post("On my way!").hover();
        await it.post("On my way!").getByRole("button", { name: "Message actions" }).click();
        await it.page.getByRole("menuitem", { name: "Edit" }).waitFor();
      }),
      covering("editing", async (it) => {
        await it.choose(it.post("On my way!"), "Message actions", "Edit");
        await it.field("Edit message").waitFor();
      }),
      {
        name: "reacting",
        async go(it) {
          const post = it.post("Good morning!");
          await post.hover();
          await post.getByRole("button", { name: "React", exact: true }).click();
          // The emoji picker is lazily loaded, and takes the focus once it is.
          await it.dialog("Emoji").waitFor();
        },
        async leave(it) {
          await escape(it);
          await it.dialog("Emoji").waitFor({ state: "hidden" });
        },
      },
      {
        name: "mentioning",
        async go(it) {
          await it.message.fill("@Ad");
          await it.message.press("End");
          await it.page.getByRole("option").first().waitFor();
        },
        async leave(it) {
          await it.message.fill("");
        },
      },
      covering("report-message", async (it) => {
        await it.choose(it.post("Good morning!"), "Message actions", "Report");
        await it.dialog("Report this message").getByLabel("Harassment or hate").check();
      }),
      covering("profile-card", async (it) => {
        await it.post("Good morning!").getByRole("button", { name: "Ada Okafor" }).first().click();
        await it.dialog("Ada Okafor").waitFor();
      }),
      stop("stage", async (it) => {
        await enter(it, stage, roomNames.stage);
        await it.post("Welcome, everybody").waitFor();
      }),
      stop("questions", (it) => tabOf(it, "Questions", "old maps")),
      covering("report-question", async (it) => {
        await article(it, "old maps")
          .first()
          .getByRole("button", { name: "Question actions" })
          .click();
        await it.page.getByRole("menuitem", { name: "Report" }).click();
        await it.dialog("Report this question").waitFor();
      }),
      stop("polls", (it) => tabOf(it, "Polls", "What is for lunch?")),
      stop("polls-of-all-kinds", async (it) => {
        await enter(it, quiz, roomNames.quiz);
        await article(it, "What makes a good map?").first().waitFor();
        await it.heading("Leaderboard").waitFor();
      }),
      stop("handbook", async (it) => {
        await it.enter(roomNames.program);
        await main(it).getByRole("table").waitFor();
      }),
      stop("program", async (it) => {
        await route(it, "#/program");
        await main(it).getByRole("link", { name: "Maps that age well" }).waitFor();
      }),
      stop("speakers", async (it) => {
        await route(it, "#/program/speakers");
        await main(it).getByRole("heading", { name: "Chloé Martin" }).waitFor();
      }),
      stop("session", async (it) => {
        await route(it, `#/program/${session}`);
        await main(it).getByText("Paper yellows").waitFor();
      }),
      stop("website", async (it) => {
        await it.enter(roomNames.partners);
        await main(it).locator("iframe").waitFor();
      }),
      stop("unknown-module", async (it) => {
        await it.enter(roomNames.odd);
        await main(it)
          .getByText(/call\.other/)
          .first()
          .waitFor();
      }),
      stop("call", async (it) => {
        await it.enter(roomNames.call);
        await previewed(it);
        await it.button("Join the call").waitFor();
      }),
      stop("call-unreachable", async (it) => {
        const [, address] = silentEngine.LIVEKIT_URL.split(":/");
        it.watch.tolerate(new RegExp(address!), /^console: Failed to load resource: net::/);
        await it.button("Join the call").click();
        await it.page.getByText("The call can’t be reached.").waitFor();
      }),
      stop("call-setup", async (it) => {
        await route(it, `#/rooms/${call}/setup`);
        await it.button("Start the test").waitFor();
        await previewed(it);
      }),
      stop("call-stage", async (it) => {
        await it.enter(roomNames.talk);
        await it.button("Watch the stage").waitFor();
      }),
      stop("message-that-waits", async (it) => {
        await it.page.getByText("Waits for a moderator").waitFor();
        await it.message.fill("And where?");
        await it.page.getByText(/Slow mode/).waitFor();
      }),
      stop("messages", async (it) => {
        await route(it, "#/messages");
        await it.heading("Direct messages").waitFor();
      }),
      covering("new-message", async (it) => {
        await it.button("New message").click();
        await it.dialog().waitFor();
      }),
      stop("conversation", async (it) => {
        await it.page
          .getByRole("link", { name: /Ada Okafor/ })
          .first()
          .click();
        await it.post("Shall we sit together").waitFor();
      }),
      {
        name: "direct-call",
        async go(it) {
          await it.button("Call").click();
          await previewed(it);
        },
        leave: (it) => it.button("Cancel").click(),
      },
      stop("profile", async (it) => {
        await route(it, "#/profile");
        await it.heading("Profile").waitFor();
        await main(it).getByText("Dev Patel").waitFor();
      }),
      stop("no-such-room", async (it) => {
        await route(it, "#/rooms/none");
        await it.page.getByRole("heading", { name: "This room is not open", level: 1 }).waitFor();
      }),
    ],
  },
  {
    name: "moderator",
    begin: (world, options) => world.bearer(host, options),
    stops: ({ stage, hallway, quiz, round }) => [
      covering("moderated-message", async (it) => {
        await enter(it, hallway, roomNames.hallway);
        const post = it.post("Good morning!");
        await post.hover();
        await post.getByRole("button", { name: "Message actions" }).click();
        await it.page.getByRole("menuitem", { name: "Ban" }).waitFor();
      }),
      stop("question-queue", async (it) => {
        await enter(it, stage, roomNames.stage);
        await tabOf(it, "Questions", "far north");
        await it.page.getByRole("heading", { name: /^Waiting/ }).waitFor();
      }),
      stop("managed-polls", (it) => tabOf(it, "Polls", "next year")),
      covering("new-poll", async (it) => {
        await it.button("New poll").click();
        await it.dialog("New poll").waitFor();
      }),
      covering("new-quiz", async (it) => {
        await it.button("New poll").click();
        await it.dialog("New poll").getByText("Quiz", { exact: true }).click();
        await it.page.getByLabel("Option 1 is correct").waitFor();
      }),
      stop("who-is-here", async (it) => {
        await it.tab("People").click();
        await it.page
          .getByRole("tabpanel", { name: /^People/ })
          .getByText("Hanna Host")
          .first()
          .waitFor();
      }),
      stop("managed-polls-of-all-kinds", async (it) => {
        await enter(it, quiz, roomNames.quiz);
        await article(it, "What should we do better?").getByText("Waiting").first().waitFor();
      }),
      stop("host-view", async (it) => {
        await route(it, `#/rooms/${stage}/host`);
        await it.page
          .getByRole("region", { name: "Questions" })
          .getByText("far north")
          .first()
          .waitFor();
      }),
      stop("messages-that-wait", async (it) => {
        await route(it, `#/rooms/${round}/host`);
        await it.heading("Messages that wait 2").waitFor();
        await it.button("Let through").first().waitFor();
      }),
      stop("call-stage-as-speaker", async (it) => {
        await it.enter(roomNames.talk);
        await previewed(it);
        await it.button("Join the call").waitFor();
      }),
    ],
  },
  hall("hall", roomNames.stage, [
    ["welcome", roomNames.stage],
    // Soon enough that the language still counts as spoken.
    ["captions", caption],
    ["questions", "How do you keep old maps readable?"],
    ["poll", "What is for lunch?"],
    ["chat", "Sound is good at the back."],
  ]),
  hall("cloud", roomNames.quiz, [["poll", "What makes a good map?"]]),
  {
    name: "stranger",
    async begin(world, options) {
      const visitor = await world.visitor(options);
      await visitor.page.goto(world.console);
      return visitor;
    },
    stops: () => [
      stop("sign-in", (it) => it.field("Token").waitFor()),
      stop("sign-in-refused", async (it) => {
        await it.field("Token").fill("no token");
        await it.button("Sign in").click();
        await it.page.getByRole("alert").first().waitFor();
      }),
    ],
  },
  {
    name: "console",
    begin: (world, options) => world.host(host, options),
    stops: ({ stage, session, call }) => [
      page("overview", "Overview", (it) =>
        main(it).getByRole("region", { name: "At a glance" }).getByRole("link").nth(3).waitFor(),
      ),
      page("program", "Program", (it) => it.field("Title: Maps that age well").waitFor()),
      page(`program/${session}`, "Maps that age well", (it) => it.field("Recording").waitFor()),
      page("program/speakers", "Speakers", (it) =>
        main(it).getByText("Chloé Martin").first().waitFor(),
      ),
      page("world", "Look", (it) => it.field("Title").waitFor()),
      page("keys", "Keys", (it) => main(it).getByRole("button").first().waitFor()),
      page("roles", "Roles", (it) => main(it).getByRole("checkbox").first().waitFor()),
      page("webhooks", "Webhooks", (it) => main(it).getByText("No webhooks").waitFor()),
      covering("new-webhook", async (it) => {
        await it.button("New webhook").click();
        await it.page.getByLabel("Everything").uncheck();
      }),
      page("providers", "Sign-in", (it) => main(it).getByText("No providers").waitFor()),
      covering("new-provider", async (it) => {
        await it.button("New provider").click();
        await it.field("Name").fill("Example");
      }),
      page("json", "JSON", (it) => it.field("Rules as JSON").waitFor()),
      page("rooms", "Rooms", (it) => main(it).getByText(roomNames.partners).first().waitFor()),
      covering("new-room", async (it) => {
        await it.button("New room").click();
        await it.dialog().waitFor();
      }),
      {
        name: "rooms-together",
        async go(it) {
          await it.button("Select").click();
          await it.page.getByLabel(roomNames.partners, { exact: true }).check();
          await it.button("Edit together").click();
          await it.dialog("Edit 1 room").getByLabel("Change who sees these rooms").check();
        },
        async leave(it) {
          await escape(it);
          await it.button("Cancel").click();
        },
      },
      stop("room", async (it) => {
        await route(it, `#/rooms/${stage}`);
        await it.field("Name").waitFor();
        await main(it)
          .getByRole("button", { name: /^Remove/ })
          .first()
          .waitFor();
      }),
      stop("call-form", async (it) => {
        await route(it, `#/rooms/${call}`);
        await it.field("At most").waitFor();
      }),
      covering("room-delete", async (it) => {
        await it.button("Delete room").click();
        await it.dialog().waitFor();
      }),
      page("people", "People", (it) =>
        it.page.getByRole("row").filter({ hasText: "Ada Okafor" }).first().waitFor(),
      ),
      page("reports", "Reports", async (it) => {
        await main(it).getByText("Reported by 2 people").waitFor();
        await it.field("Words, one per line").waitFor();
      }),
      covering("report-ban", async (it) => {
        await main(it).getByRole("button", { name: "Ban" }).first().click();
        await it.dialog("Ban Dev Patel?").waitFor();
      }),
      page("activity", "Activity", (it) => main(it).getByText("Connections").first().waitFor()),
      page("results", "Results", (it) => main(it).getByRole("figure").nth(1).waitFor()),
      page("history", "History", (it) => main(it).getByText("created a poll").first().waitFor()),
      page("announcements", "Announcements", (it) =>
        main(it).getByText("The workshop moves").first().waitFor(),
      ),
      covering("new-announcement", async (it) => {
        await it.button("New announcement").click();
        await it.dialog("New announcement").waitFor();
      }),
      page("invite", "Invite", (it) => it.page.getByRole("img", { name: /QR/ }).waitFor()),
      stop("created-link", async (it) => {
        await it.page.getByRole("radio", { name: /^One person/ }).check();
        await it.field("Name").fill("Uma Lindqvist");
        await it.button("Create link").click();
        await it.button("Copy").first().waitFor();
      }),
    ],
  },
];

/**
 * A tour of the screens in a room, by the user of such a screen.
 * @param screens what the screen is for, and a text on it.
 */
function hall(name: string, room: string, screens: readonly [string, string][]): Tour {
  return {
    name,
    async begin(world, options) {
      const { id } = (await world.api.listRooms()).results.find(({ name }) => name === room)!;
      const live = await world.live(host);
      const profile = { display_name: `Screen in ${room}`, room_id: id };
      const { user } = await live.call("user.kiosk.create", { profile });
      const { token } = await live.call("user.kiosk.fetch", { id: user.id });
      const line = { lang: "en", text: caption, final: true };
      await live.call("room.captions.send", { room: id, ...line });
      live.close();
      const visitor = await world.visitor(options);
      const { page } = visitor;
      await page.goto(`${world.attend}?screen=welcome#token=${token}`);
      await visitor.heading(room).waitFor();
      return visitor;
    },
    stops: () =>
      screens.map(([screen, text]) => ({
        name: screen,
        async go({ page }) {
          await page.goto(new URL(`?screen=${screen}`, page.url()).href);
          await page.getByText(text).first().waitFor();
        },
      })),
  };
}

function page(path: string, heading: string, ready: (visitor: Visitor) => Promise<unknown>): Stop {
  return {
    name: path,
    async go(it) {
      await route(it, `#/${path}`);
      await it.page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await ready(it);
    },
  };
}
