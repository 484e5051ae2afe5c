import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationsService } from '../../accounts/applications/applications.service.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { wireView } from '../../platform/wire/wire-view.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import { type HoldBody, holdSchema } from '../accounts/admin-accounts.schema.ts';
import {
  type ApplicationContact,
  applicationContact,
  applicationDeletions,
  type DeleteApplicationQuery,
  deleteApplicationQuery,
  type ListApplicationsQuery,
  listApplicationsQuery,
  operatorApplication,
  operatorApplications,
} from './admin-applications.schema.ts';
import { OperatorApplications } from './operator-applications.ts';

/** `{id}` is the id or the client id of an application. */
@ApiTags('applications')
@OperatorAccess('operate')
@Controller('admin/applications')
export class AdminApplicationsController {
  constructor(
    private readonly applications: OperatorApplications,
    private readonly owners: ApplicationsService,
  ) {}

  @Get()
  @OperatorAccess('read')
  @Endpoint({ summary: 'List applications, oldest first', response: operatorApplications })
  async list(
    @Query({ schema: listApplicationsQuery })
    { limit, page_token: pageToken, ...filter }: ListApplicationsQuery,
  ) {
    return wireView(await this.applications.list(filter, { limit, pageToken }));
  }

  @Get('deletions')
  @OperatorAccess('read')
  @Endpoint({
    summary: 'List deletions of applications, newest first',
    description: 'Those that run, and those that ended within 90 days.',
    response: applicationDeletions,
  })
  async deletions() {
    return wireView({ items: await this.applications.deletions() });
  }

  @Get(':id')
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({ summary: 'Read an application', response: operatorApplication })
  async get(@Param('id') id: string) {
    return wireView(await this.applications.get(id));
  }

  @Put(':id/contact')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Set the contact address of an application',
    description:
      'It gets a mail when webhooks of the application fail, stop or recover: at most one an hour. The application can set it, too.',
    response: operatorApplication,
  })
  async setContact(
    @Param('id') id: string,
    @Body({ schema: applicationContact }) { contact_email: contactEmail }: ApplicationContact,
  ) {
    const { id: applicationId } = await this.applications.get(id);
    await this.owners.update(applicationId, { contactEmail });
    return wireView(await this.applications.get(applicationId));
  }

  @Post(':id/pause')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Pause the sending of all accounts of an application',
    description: 'As `POST /admin/accounts/{id}/pause` does for one account.',
    response: operatorApplication,
  })
  async pause(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: holdSchema }) { reason }: HoldBody,
  ) {
    return wireView(await this.applications.pauseSending(actor, id, reason ?? null));
  }

  @Post(':id/resume')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Resume the sending of an application',
    description: 'Pauses of single accounts last.',
    response: operatorApplication,
  })
  async resume(@CurrentActor() actor: Actor, @Param('id') id: string) {
    return wireView(await this.applications.resumeSending(actor, id));
  }

  @Post(':id/suspend')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Suspend an application',
    description:
      'All its requests are refused with 403, and nothing is sent, synced or written to providers. Nothing is lost.',
    response: operatorApplication,
  })
  async suspend(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: holdSchema }) { reason }: HoldBody,
  ) {
    return wireView(await this.applications.suspend(actor, id, reason ?? null));
  }

  @Post(':id/unsuspend')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'End the suspension of an application',
    description:
      'Mailboxes are synced again at once, and messages that became due are sent unless their deadline has passed.',
    response: operatorApplication,
  })
  async unsuspend(@CurrentActor() actor: Actor, @Param('id') id: string) {
    return wireView(await this.applications.unsuspend(actor, id));
  }

  @Delete(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Delete an application with all its data',
    description:
      'It is suspended at once, and a worker deletes its data in batches: `deletion` shows the progress. Subscriptions at providers are ended and tokens revoked. It cannot be undone.',
    response: operatorApplication,
  })
  async delete(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Query({ schema: deleteApplicationQuery }) { confirm }: DeleteApplicationQuery,
  ) {
    return wireView(await this.applications.delete(actor, id, confirm));
  }
}
