/** A call that a suite makes, as docs/compatibility.md counts it. */
export interface CountedCall {
  /** Row of the table, for example `messages`. */
  resource: string;
  /** The call as a user of the client writes it. */
  call: string;
  /** Why Carillon refuses the call. */
  refused?: string | undefined;
}

/** A client and the calls that its suite makes. */
export interface CountedClient {
  /** Column of the table. */
  client: string;
  version: string;
  /** Where the source is published. */
  source: string;
  calls: readonly CountedCall[];
}

/**
 * Returns the tables of docs/compatibility.md in Markdown: clients, calls by resource, and refused
 * calls with the reason.
 */
export function compatibilityTables(clients: readonly CountedClient[]): string {
  const resources = [...new Set(clients.flatMap(({ calls }) => calls.map((c) => c.resource)))];
  const cell = (client: CountedClient, resource: string): string => {
    const calls = client.calls.filter((call) => call.resource === resource);
    if (calls.length === 0) return '';
    const refused = calls.filter((call) => call.refused !== undefined).length;
    const works = `${calls.length - refused} work`;
    return refused === 0 ? works : `${works}, ${refused} refused`;
  };
  const refusals = clients.flatMap(({ client, calls }) =>
    calls.flatMap(({ call, refused }) => (refused ? [[client, `\`${call}\``, refused]] : [])),
  );
  return [
    table(
      ['Client', 'Version', 'Source', 'Calls'],
      clients.map((c) => [c.client, c.version, c.source, String(c.calls.length)]),
    ),
    table(
      ['Resource', ...clients.map(({ client }) => client)],
      resources.toSorted().map((row) => [row, ...clients.map((client) => cell(client, row))]),
    ),
    table(['Client', 'Call', 'Why it is refused'], refusals),
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}
