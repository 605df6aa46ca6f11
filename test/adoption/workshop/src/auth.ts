import { Context, Next } from 'koa';
import passport from 'koa-passport';
import { Strategy } from 'passport-local';
import { hash, User } from './models/user';

passport.serializeUser((user, done) => done(null, (user as User).id));
passport.deserializeUser((id, done) => {
  User.query()
    .findById(id as number)
    .then((user) => done(null, user || false))
    .catch(done);
});

passport.use(
  new Strategy({ usernameField: 'email' }, (email, password, done) => {
    User.query()
      .findOne({ email, password: hash(password) })
      .then((user) => done(null, user || false))
      .catch(done);
  }),
);

export async function requireUser(ctx: Context, next: Next) {
  if (!ctx.isAuthenticated()) ctx.throw(401, 'Please log in');
  await next();
}

export async function requireAdmin(ctx: Context, next: Next) {
  if (!ctx.isAuthenticated()) ctx.throw(401, 'Please log in');
  if (!(ctx.state.user as User).isAdmin) ctx.throw(403, 'Admins only');
  await next();
}

export default passport;
