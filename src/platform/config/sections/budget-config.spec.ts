import { z } from 'zod';
import { budgetVariables } from './budget-config.ts';

const variables = z.object(budgetVariables);

describe('budgetVariables', () => {
  it.each([
    ['GMAIL_UNITS_PER_ACCOUNT', 3_200],
    ['GMAIL_UNITS_PER_APPLICATION', 3_200],
    ['GRAPH_REQUESTS_PER_ACCOUNT', 4],
    ['GRAPH_REQUESTS_PER_APPLICATION', 4],
    ['GRAPH_MESSAGES_PER_ACCOUNT', 4],
  ])('refuse a value of %s with which not even one step could be done', (name, least) => {
    expect(variables.safeParse({ [name]: String(least) }).success).toBe(true);
    const refused = variables.safeParse({ [name]: String(least - 1) });
    expect(refused.error?.issues).toMatchObject([
      { path: [name], message: `must be between ${least} and 100000000` },
    ]);
  });
});
