import type { Actor } from '../../../platform/audit/actor.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { OperatorLinksService } from '../../access/operator-links.service.ts';
import type { ListedOperator, OperatorsService } from '../../access/operators.service.ts';
import type { ConsoleAction } from '../action-pages.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { exactly } from '../kit/time.ts';
import { secretPage, typedField } from '../pages/action.page.ts';
import { textIn } from '../queries.ts';
import { operatorCrumbs, OPERATORS_PATH } from './operators.page.ts';
import { OWN_PASSWORD_PATH } from './own-password.page.ts';

/** What a new sign-in link means. */
export const LINK =
  'You get a link that signs the operator in once, within an hour. Send it to that person only.';

/**
 * Makes a sign-in link, and the page that shows it once.
 * @param to the page that the link opens. Default: the overview
 */
export type LinkPage = (
  actor: Actor,
  operator: ListedOperator,
  to?: string,
) => Promise<ConsolePage>;

export const linkPages =
  (links: OperatorLinksService, clock: Clock): LinkPage =>
  async (actor, operator, to) => {
    const { name } = operator;
    const { url, endsAt } = await links.create(actor, name);
    return secretPage({
      section: 'operators',
      title: 'Sign-in link',
      text: `Send this link to ${name}, and to nobody else. It works once.`,
      what: 'link',
      value: to === undefined ? url : `${url}&to=${to}`,
      crumbs: operatorCrumbs(operator),
      more: [['Works until', exactly(endsAt, clock.now())]],
    });
  };

/** Actions on operators, by name. */
export function operatorActions(
  operators: OperatorsService,
  linkPage: LinkPage,
): Readonly<Record<string, ConsoleAction<ListedOperator>>> {
  return {
    operate: {
      ask: ({ name }) => ({
        title: `Let ${name} change things?`,
        consequences: `${name} can then do everything that you can, also with operators. The sessions of ${name} end.`,
        button: 'Give the role operate',
      }),
      run: (actor, { name }) => operators.setRole(actor, name, 'operate'),
      done: 'role-changed',
    },
    read: {
      ask: ({ name }) => ({
        title: `Restrict ${name} to reading?`,
        consequences: `${name} and the tokens of ${name} can change nothing any more. The sessions of ${name} end.`,
        button: 'Give the role read',
      }),
      run: (actor, { name }) => operators.setRole(actor, name, 'read'),
      done: 'role-changed',
    },
    disable: {
      ask: ({ name }) => ({
        title: `Disable ${name}?`,
        consequences: `The sessions and sign-in links of ${name} end, and no token of ${name} works, until somebody enables ${name} again. Nothing is deleted.`,
        button: 'Disable the operator',
        danger: true,
      }),
      run: (actor, { name }) => operators.disable(actor, name),
      done: 'operator-disabled',
    },
    enable: {
      ask: ({ name }) => ({
        title: `Enable ${name}?`,
        consequences: `The password and the tokens of ${name} work again.`,
        button: 'Enable the operator',
      }),
      run: (actor, { name }) => operators.enable(actor, name),
      done: 'operator-enabled',
    },
    remove: {
      ask: ({ name }) => ({
        title: `Remove ${name}?`,
        consequences: `The operator is deleted with all sessions, sign-in links and tokens. What ${name} did stays in the audit log. This cannot be undone.`,
        button: 'Remove the operator',
        danger: true,
        fields: typedField(name),
      }),
      run: async (actor, { name }, body) => {
        if (textIn(body, 'confirm') !== name)
          throw new InvalidInputError(`confirm: type ${name} to remove this operator`);
        await operators.remove(actor, name);
      },
      done: 'operator-removed',
      next: OPERATORS_PATH,
    },
    'sign-in-link': {
      ask: ({ name }) => ({
        title: `Make a sign-in link for ${name}?`,
        consequences: LINK,
        button: 'Make the link',
      }),
      show: (actor, operator) => linkPage(actor, operator),
    },
    'reset-password': {
      ask: ({ name }) => ({
        title: `Reset the password of ${name}?`,
        consequences: `The password is removed, and all sessions of ${name} end. ${LINK} The operator then chooses a new password.`,
        button: 'Reset the password',
        danger: true,
      }),
      show: async (actor, operator) => {
        await operators.resetPassword(actor, operator.name);
        return linkPage(actor, operator, OWN_PASSWORD_PATH);
      },
    },
  };
}
