import { Body, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ApplicationsService } from '../../../accounts/applications/applications.service.ts';
import { PLANS } from '../../../platform/auth/plan.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { isEmailAddress } from '../../../platform/base/text/address.ts';
import { REGIONS } from '../../../platform/config/regions.ts';
import { OperatorAccess } from '../../access/operator-access.decorators.ts';
import { OperatorApplications } from '../../applications/operator-applications.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticePath } from '../notices.ts';
import { actionPage, rotationFields, SECRET_OVERLAPS, secretPage } from '../pages/action.page.ts';
import {
  applicationFields,
  applicationPath,
  APPLICATIONS_PATH,
  contactFields,
} from '../pages/applications.page.ts';
import { choiceIn, type Fields, textIn } from '../queries.ts';

const LONGEST_NAME = 200;
const CRUMB = { path: APPLICATIONS_PATH, label: 'Applications' };

/** The address in a form; `null` for the empty text, which removes it. */
function contactIn({ contact_email: value }: Fields): string | null {
  const text = typeof value === 'string' ? value.trim() : null;
  if (text === '') return null;
  if (text === null || !isEmailAddress(text))
    throw new InvalidInputError('contact_email: must be an email address, or empty for none');
  return text;
}

/**
 * New applications, new client secrets, and contact addresses. The page of a secret is the response
 * to the form, so that the secret is shown once. The module of applications records what is done.
 */
@ConsolePages('applications')
export class ConsoleNewApplicationsController {
  constructor(
    private readonly applications: OperatorApplications,
    private readonly owners: ApplicationsService,
  ) {}

  @Get('new')
  @OperatorAccess('operate')
  ask(@Res() response: Response): void {
    const page = actionPage(viewerOf(response.req), {
      section: 'applications',
      title: 'Create an application?',
      consequences:
        'It gets a client id and a client secret, with which it connects accounts. The secret is shown once.',
      crumbs: [CRUMB],
      path: `${APPLICATIONS_PATH}/new`,
      fields: applicationFields(),
      button: 'Create the application',
      back: APPLICATIONS_PATH,
    });
    sendPage(response, page);
  }

  @Post('new')
  @OperatorAccess('operate')
  async create(@Body() body: Fields, @Res() response: Response): Promise<void> {
    const name = textIn(body, 'name');
    if (name === undefined || name.length > LONGEST_NAME)
      throw new InvalidInputError(`name: must have 1 to ${LONGEST_NAME} characters`);
    const { application, clientSecret } = await this.owners.create({
      name,
      plan: choiceIn(body, 'plan', PLANS) ?? 'standard',
      region: choiceIn(body, 'region', REGIONS) ?? 'us',
      features: [],
    });
    this.#showSecret(response, application, clientSecret);
  }

  @Get(':id/rotate-secret')
  @OperatorAccess('operate')
  async askRotate(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const { id: applicationId, name } = await this.applications.get(id);
    const path = applicationPath(applicationId);
    const page = actionPage(viewerOf(response.req), {
      section: 'applications',
      title: `Make a new client secret for ${name}?`,
      consequences:
        'Webhooks are signed with the new secret at once; while the present one is accepted, webhook-signature has both. Access tokens keep working. This cannot be undone.',
      fields: rotationFields(),
      crumbs: [CRUMB, { path, label: name }],
      path: `${path}/rotate-secret`,
      button: 'Make a new secret',
      danger: true,
      back: path,
    });
    sendPage(response, page);
  }

  @Post(':id/rotate-secret')
  @OperatorAccess('operate')
  async rotate(
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const overlaps = Object.keys(SECRET_OVERLAPS);
    const keepOldSeconds = Number(choiceIn(body, 'keep_old', overlaps) ?? 0);
    const { clientId } = await this.applications.get(id);
    const { application, clientSecret } = await this.owners.rotateSecret(clientId, keepOldSeconds);
    this.#showSecret(response, application, clientSecret);
  }

  @Get(':id/contact')
  @OperatorAccess('operate')
  async askContact(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const application = await this.applications.get(id);
    const path = applicationPath(application.id);
    const page = actionPage(viewerOf(response.req), {
      section: 'applications',
      title: `Change the contact address of ${application.name}?`,
      consequences:
        'It gets a mail when webhooks of the application fail, stop or recover: at most one an hour. The application can change it, too.',
      crumbs: [CRUMB, { path, label: application.name }],
      path: `${path}/contact`,
      fields: contactFields(application),
      button: 'Change the address',
      back: path,
    });
    sendPage(response, page);
  }

  @Post(':id/contact')
  @OperatorAccess('operate')
  async setContact(
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const contactEmail = contactIn(body);
    const { id: applicationId } = await this.applications.get(id);
    await this.owners.update(applicationId, { contactEmail });
    response.redirect(303, noticePath(applicationPath(applicationId), 'contact-changed'));
  }

  #showSecret(
    response: Response,
    { id, name, clientId }: { id: string; name: string; clientId: string },
    clientSecret: string,
  ): void {
    const page = secretPage({
      section: 'applications',
      title: 'Client secret',
      text: `The client secret of ${name}. Give it to the people who run the application only.`,
      what: 'client secret',
      value: clientSecret,
      crumbs: [CRUMB, { path: applicationPath(id), label: name }],
      more: [['Client id', clientId]],
    });
    sendPage(response, page);
  }
}
