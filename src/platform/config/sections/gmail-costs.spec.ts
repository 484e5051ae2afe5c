import { z } from 'zod';
import { budgetConfig, budgetVariables } from './budget-config.ts';

const variables = z.object(budgetVariables);

function configOf(environment: Record<string, string>) {
  const problems: string[] = [];
  const { gmail } = budgetConfig(variables.parse(environment), problems);
  return { ...gmail, problems };
}

describe('the costs of Gmail', () => {
  it('are those of May 2026 unless the project is older', () => {
    const { costs, account, problems } = configOf({});
    expect(costs).toMatchObject({ 'messages.get': 20, 'drafts.create': 10, 'messages.send': 100 });
    expect([account.units, problems]).toEqual([6_000, []]);
  });

  it('of an old project are its earlier ones, with a larger limit for each mailbox', () => {
    const { costs, account } = configOf({ GMAIL_PROJECT: 'old' });
    expect(costs).toMatchObject({ 'messages.get': 5, 'messages.attachments.get': 5, watch: 100 });
    expect(account.units).toBe(15_000);
    const own = configOf({ GMAIL_PROJECT: 'old', GMAIL_UNITS_PER_ACCOUNT: '9000' });
    expect(own.account.units).toBe(9_000);
  });

  it('can be changed one by one', () => {
    const { costs } = configOf({ GMAIL_UNIT_COSTS: 'messages.get=8, watch=50' });
    expect(costs).toMatchObject({ 'messages.get': 8, watch: 50, 'messages.list': 5 });
  });

  it.each([
    'messages.get',
    'messages.get=0',
    'messages.read=5',
    'messages.get=99999',
    '__proto__=5',
  ])('cannot be %s', (value) => {
    const { success, error } = variables.safeParse({ GMAIL_UNIT_COSTS: value });
    expect([success, error?.issues[0]?.path]).toEqual([false, ['GMAIL_UNIT_COSTS']]);
    expect(error?.issues[0]?.message).toContain('pairs such as messages.get=20');
  });

  it('must leave enough units for 40 messages that are read together', () => {
    const { problems } = configOf({ GMAIL_UNIT_COSTS: 'messages.get=40' });
    expect(problems).toEqual([expect.stringContaining('must be at least 6400')]);
  });
});
