/** The emoji that the pages offer, in groups. `chat.emojiNames` has their names in this order. */
export const emojiGroups: readonly (readonly string[])[] = [
  ["👍", "👎", "👏", "🙌", "🙏", "👋", "💪", "🤝", "👌", "✌️", "🤞", "👀"],
  ["😀", "😄", "😂", "🤣", "😊", "😉", "😍", "🥰", "😎", "🤔", "😮", "😅"],
  ["🙂", "😇", "🤗", "🤩", "😴", "😐", "🙄", "😬", "😕", "😢", "😭", "😡"],
  ["❤️", "🧡", "💛", "💚", "💙", "💜", "💯", "🎉", "🎊", "🥳", "🎂", "🎁"],
  ["🔥", "⭐", "✨", "💡", "🚀", "✅", "❌", "❓", "❗", "⏰", "☕", "🍕"],
];

/** All of them. */
export const allEmoji: readonly string[] = emojiGroups.flat();
