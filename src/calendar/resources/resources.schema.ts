import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import { countView } from '../../platform/wire/wire.schema.ts';
import { withOtherShapes } from '../../platform/wire/response-shapes.ts';

export const listResourcesQuery = z.object({ ...pageQuery, view: viewQuery(['count']) });
export type ListResourcesQuery = z.infer<typeof listResourcesQuery>;

/**
 * A meeting room. A room has no id; events invite it, and availability requests name it, by its
 * address.
 */
export const roomView = z
  .object({
    object: z.literal('room_resource'),
    email: z.string(),
    name: z.string(),
    capacity: z.string().describe('Empty if not known, as are the fields below'),
    building: z.string(),
    floor_name: z.string(),
    floor_number: z.string(),
  })
  .meta({
    id: 'RoomResource',
    example: {
      object: 'room_resource',
      email: 'aquarium@example.test',
      name: 'Aquarium',
      capacity: '8',
      building: 'Main',
      floor_name: 'Ground floor',
      floor_number: '0',
    },
  });
export type RoomView = z.infer<typeof roomView>;

/** Response of GET /resources, by `view`. */
export const roomList = withOtherShapes(z.array(roomView), { '`view=count`': countView });
