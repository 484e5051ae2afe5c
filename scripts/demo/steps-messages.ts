import { field, items } from '../lib/api-client.ts';
import type { Cast } from './context.ts';
import { until } from '../lib/report.ts';

const headline = (message: unknown): object => ({
  from: field(message, 'from', 0, 'email'),
  subject: field(message, 'subject'),
  unread: field(message, 'unread'),
});

/** Reads the messages with several filters. */
export async function readMessages({ report, api, ada }: Cast): Promise<void> {
  report.step('Ada reads her messages');
  await until('the messages in the mirror', async () => {
    const { body } = await api.call(ada, 'GET', '/messages?view=count', { silent: true });
    return Number(field(body, 'count')) >= 3 ? true : undefined;
  });
  const all = await api.call(ada, 'GET', '/messages?limit=10', {
    show: (list) => items(list).map(headline),
  });
  report.verify(
    'newest first',
    isDescending(items(all.body).map((message) => Number(field(message, 'date')))),
  );

  const filters: [string, string, (message: unknown) => boolean][] = [
    [
      'unread=true&limit=2',
      'only unread messages, two at most',
      (message) => field(message, 'unread') === true,
    ],
    [
      'from=bo@sandbox.test',
      'only messages from Bo',
      (message) => field(message, 'from', 0, 'email') === 'bo@sandbox.test',
    ],
    [
      'has_attachment=true',
      'only messages with an attachment',
      (message) => items(field(message, 'files')).length > 0,
    ],
  ];
  for (const [query, meaning, matches] of filters) {
    const { body } = await api.call(ada, 'GET', `/messages?${query}`, {
      show: (list) => items(list).map(headline),
    });
    const found = items(body);
    report.verify(
      meaning,
      found.length > 0 && found.length < items(all.body).length + 1 && found.every(matches),
    );
  }
}

function isDescending(values: readonly number[]): boolean {
  return (
    values.length > 1 &&
    values.every((value, index) => index === 0 || value <= (values[index - 1] ?? 0))
  );
}
