// What casbin's policy lines hold of argEquals: each text read once.
export function argumentsTable(rows) {
  return new Map(
    rows
      .map((row) => row.at(-1))
      .filter((text) => text !== "")
      .map((text) => [text, JSON.parse(text)]),
  );
}
