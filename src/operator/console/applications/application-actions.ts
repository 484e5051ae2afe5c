import type { ApplicationsService } from '../../../accounts/applications/applications.service.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { isEmailAddress } from '../../../platform/base/text/address.ts';
import type { OperatorApiUse } from '../../api-use/operator-api-use.ts';
import type { OperatorCeilings } from '../../api-use/operator-ceilings.ts';
import type { ApplicationDetail } from '../../applications/application-item.ts';
import type { OperatorApplications } from '../../applications/operator-applications.ts';
import type { ConsoleAction } from '../action-pages.ts';
import { counted } from '../kit/figures.ts';
import type { ConsolePage, Crumb } from '../kit/layout.ts';
import {
  reasonField,
  rotationFields,
  SECRET_OVERLAPS,
  secretPage,
  typedField,
} from '../pages/action.page.ts';
import { applicationPath, APPLICATIONS_PATH, contactFields } from '../pages/applications.page.ts';
import { ceilingFields, ceilingsTable } from '../pages/ceilings.ts';
import { choiceIn, type Fields, reasonIn, textIn } from '../queries.ts';

type ApplicationAction = ConsoleAction<ApplicationDetail>;

export const APPLICATIONS_CRUMB: Crumb = { path: APPLICATIONS_PATH, label: 'Applications' };

export const applicationCrumbs = ({ id, name }: { id: string; name: string }): Crumb[] => [
  APPLICATIONS_CRUMB,
  { path: applicationPath(id), label: name },
];

/** Actions on the state of an application. */
export function stateActions(
  applications: OperatorApplications,
): Readonly<Record<string, ApplicationAction>> {
  return {
    pause: {
      ask: ({ name, accounts }) => ({
        title: `Pause sending for ${name}?`,
        consequences: `Messages of its ${counted(accounts, 'account')} wait until you resume. New ones are accepted and wait as well. Messages whose deadline passes meanwhile fail.`,
        button: 'Pause sending',
        fields: reasonField('The users of the application see it.'),
      }),
      run: (actor, { id }, body) => applications.pauseSending(actor, id, reasonIn(body)),
      done: 'sending-paused',
    },
    resume: {
      ask: ({ name, pausedMessages }) => ({
        title: `Resume sending for ${name}?`,
        consequences: `${counted(pausedMessages, 'waiting message')} will be sent, unless a deadline has passed. Pauses of single accounts last.`,
        button: 'Resume sending',
      }),
      run: (actor, { id }) => applications.resumeSending(actor, id),
      done: 'sending-resumed',
    },
    suspend: {
      ask: ({ name, accounts }) => ({
        title: `Suspend ${name}?`,
        consequences: `Its requests and sign-ins are refused, and nothing of its ${counted(accounts, 'account')} is sent or synced. Nothing is lost.`,
        button: 'Suspend the application',
        danger: true,
        fields: reasonField('For the audit log, and for other operators.'),
      }),
      run: (actor, { id }, body) => applications.suspend(actor, id, reasonIn(body)),
      done: 'suspended',
    },
    activate: {
      ask: ({ name }) => ({
        title: `End the suspension of ${name}?`,
        consequences:
          'Its mailboxes are synced again at once. What became due meanwhile is sent, unless its deadline has passed.',
        button: 'End the suspension',
      }),
      run: (actor, { id }) => applications.unsuspend(actor, id),
      done: 'activated',
    },
    delete: {
      ask: ({ name, clientId, accounts }) => ({
        title: `Delete ${name} and all its data?`,
        consequences: `The application is suspended at once. Then its ${counted(accounts, 'account')}, their mirrored mail, calendars and contacts, its waiting messages, webhooks and tokens are deleted. Nothing is deleted at the providers. This cannot be undone.`,
        button: 'Delete the application',
        danger: true,
        fields: typedField(clientId),
      }),
      run: (actor, { id }, body) => applications.delete(actor, id, textIn(body, 'confirm') ?? ''),
      done: 'deleting',
    },
  };
}

/**
 * The ceiling in a form; `null` for the empty text, which removes the ceiling. `NaN`, which
 * `OperatorCeilings` refuses, for anything else than a number, and if the field is missing.
 */
function unitsIn({ units }: Fields): number | null {
  const text = typeof units === 'string' ? units.trim() : undefined;
  if (text === '') return null;
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** Changes what an application may use of the APIs of Google and Microsoft. */
export const ceilingAction = (
  ceilings: OperatorCeilings,
  use: OperatorApiUse,
): ApplicationAction => ({
  ask: async ({ id, name }) => {
    const [present, { items }] = await Promise.all([ceilings.list(id), use.list(id)]);
    return {
      title: `Change a ceiling of ${name}?`,
      consequences:
        'From 80 % of its ceiling on, the application reads no older mail. From 90 % on, nothing is synced, and at 100 % requests that need the company are refused until the next day. Messages are still sent. All processes follow within ten seconds.',
      sample: ceilingsTable(present, items),
      fields: ceilingFields(present),
      button: 'Change the ceiling',
    };
  },
  run: (actor, { id }, body) => ceilings.set(actor, id, textIn(body, 'api') ?? '', unitsIn(body)),
  done: 'ceiling-changed',
});

/** The address in a form; `null` for the empty text, which removes it. */
function contactIn({ contact_email: value }: Fields): string | null {
  const text = typeof value === 'string' ? value.trim() : null;
  if (text === '') return null;
  if (text === null || !isEmailAddress(text))
    throw new InvalidInputError('contact_email: must be an email address, or empty for none');
  return text;
}

/** Changes or removes the contact address. The module of applications records it. */
export const contactAction = (owners: ApplicationsService): ApplicationAction => ({
  ask: (application) => ({
    title: `Change the contact address of ${application.name}?`,
    consequences:
      'It gets a mail when webhooks of the application fail, stop or recover: at most one an hour. The application can change it, too.',
    fields: contactFields(application),
    button: 'Change the address',
  }),
  run: (_actor, { id }, body) => owners.update(id, { contactEmail: contactIn(body) }),
  done: 'contact-changed',
});

/** Makes a new client secret. The module of applications records it. */
export const secretAction = (owners: ApplicationsService): ApplicationAction => ({
  ask: ({ name }) => ({
    title: `Make a new client secret for ${name}?`,
    consequences:
      'Webhooks are signed with the new secret at once; while the present one is accepted, webhook-signature has both. Access tokens keep working. This cannot be undone.',
    fields: rotationFields(),
    button: 'Make a new secret',
    danger: true,
  }),
  show: async (_actor, { clientId }, body) => {
    const overlaps = Object.keys(SECRET_OVERLAPS);
    const keepOldSeconds = Number(choiceIn(body, 'keep_old', overlaps) ?? 0);
    const { application, clientSecret } = await owners.rotateSecret(clientId, keepOldSeconds);
    return shownSecret(application, clientSecret);
  },
});

/** The page that shows a client secret once. */
export const shownSecret = (
  application: { id: string; name: string; clientId: string },
  clientSecret: string,
): ConsolePage =>
  secretPage({
    section: 'applications',
    title: 'Client secret',
    text: `The client secret of ${application.name}. Give it to the people who run the application only.`,
    what: 'client secret',
    value: clientSecret,
    crumbs: applicationCrumbs(application),
    more: [['Client id', application.clientId]],
  });
