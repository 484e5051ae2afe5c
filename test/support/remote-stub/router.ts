interface Entry<Value> {
  method: string;
  pattern: RegExp;
  names: string[];
  literal: number;
  value: Value;
}

/** A route that was found, with the decoded parameters of its path. */
export interface FoundRoute<Value> {
  value: Value;
  params: Record<string, string>;
}

/** Finds values, such as handlers, by the method and the path of a request. */
export class Router<Value> {
  readonly #entries: Entry<Value>[] = [];
  #isSorted = true;

  /**
   * Adds a route. If several match a path, the one with the most characters outside of parameters
   * is found.
   * @param template such as `/users/{id}/messages`; a parameter may be followed by text, as in
   *   `{id}:stop`, and `{name*}` matches slashes, too
   */
  add(method: string, template: string, value: Value): void {
    const names: string[] = [];
    const source = template
      .split(/(\{[^}]+\})/)
      .map((part) => {
        if (!part.startsWith('{')) return part.replace(/[.$()*+?]/g, '\\$&');
        names.push(part.slice(1, -1).replace('*', ''));
        return part.endsWith('*}') ? '(.+)' : '([^/]+?)';
      })
      .join('');
    const literal = template.replace(/\{[^}]+\}/g, '').length;
    this.#entries.push({ method, pattern: new RegExp(`^${source}$`), names, literal, value });
    this.#isSorted = false;
  }

  /** @returns the route; `method` if the path is known with other methods only; null for neither */
  find(method: string, path: string): FoundRoute<Value> | 'method' | null {
    if (!this.#isSorted) this.#entries.sort((a, b) => b.literal - a.literal);
    this.#isSorted = true;
    let isPath = false;
    for (const entry of this.#entries) {
      const match = entry.pattern.exec(path);
      if (!match) continue;
      isPath = true;
      if (entry.method !== method) continue;
      const params = entry.names.map((name, index) => [name, decoded(match[index + 1] ?? '')]);
      return { value: entry.value, params: Object.fromEntries(params) as Record<string, string> };
    }
    return isPath ? 'method' : null;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}
