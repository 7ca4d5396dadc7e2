// What the simulated people of the demo do, in this order.

/** Something that a person does in a room. */
export type Act =
  | { readonly say: string }
  | { readonly ask: string }
  /** A floating reaction. */
  | { readonly react: "👏" | "❤️" | "👍" }
  /** Votes in the open poll: for another option each time. */
  | "vote"
  /** Votes for the first question that the person has not voted for. */
  | "support";

export type Beat = readonly [by: string, room: string, act: Act];

/** What is said once. */
export const SCRIPT: readonly Beat[] = [
  ["Jonas", "Main stage", { react: "👏" }],
  [
    "Yuki",
    "Main stage",
    { say: "Hello from the train. The picture is sharp even here." },
  ],
  ["Jonas", "Hallway", { say: "Back with a coffee. Which talk are you in?" }],
  ["Leila", "Main stage", { react: "❤️" }],
  ["Sven", "Main stage", "vote"],
  [
    "Priya",
    "Side stage",
    { ask: "Does the antenna turn by itself when the boat does?" },
  ],
  [
    "Adaeze",
    "Hallway",
    { say: "The Main stage. They are getting to the interesting part." },
  ],
  ["Yuki", "Side stage", "support"],
  ["Adaeze", "Main stage", { react: "👏" }],
  ["Priya", "Main stage", { react: "👏" }],
  [
    "Tomás",
    "Workshop",
    { say: "My plan is down to one page. What do you leave out first?" },
  ],
  ["Leila", "Main stage", { say: "That graph should hang in every office." }],
  ["Mira", "Hallway", { say: "I have three pages of notes already." }],
  ["Leila", "Side stage", "support"],
  ["Jonas", "Main stage", "vote"],
  [
    "Priya",
    "Workshop",
    { say: "Everything that nobody asks for on the day itself." },
  ],
  ["Sven", "Main stage", { react: "👍" }],
  [
    "Sven",
    "Side stage",
    { ask: "How long does the battery last if the sun is out?" },
  ],
  [
    "Jonas",
    "Hallway",
    { say: "Then lunch is on you, and you tell us about them." },
  ],
  ["Yuki", "Main stage", { react: "❤️" }],
  ["Mira", "Side stage", "support"],
  [
    "Yuki",
    "Help desk",
    { say: "Are there captions? The room next door is loud." },
  ],
  ["Leila", "Main stage", { react: "👏" }],
  [
    "Sven",
    "Help desk",
    { say: "In the menu of the player, if the speaker has sent them." },
  ],
  ["Tomás", "Main stage", "vote"],
  ["Adaeze", "Main stage", { say: "Vote in the poll, it is nearly a draw!" }],
];

/** What they do when all is said. */
export const IDLE: readonly Beat[] = SCRIPT.filter(
  ([, , act]) => typeof act === "string" || "react" in act,
);
