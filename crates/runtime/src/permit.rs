//! The one check under every tool call.

use protocol::Permission;
use tools::{Access, Spec};

/// Whether the call may run; if not, what the model is told.
pub(crate) fn check(permission: Permission, spec: &Spec) -> Result<(), String> {
    match (permission, spec.access) {
        (Permission::AllowAll, _) | (Permission::ReadOnly, Access::Read | Access::Session) => Ok(()),
        (Permission::ReadOnly, Access::Write | Access::Execute) => Err(format!(
            "`{}` was not permitted: this session may only read. Go on without it and tell the user that it needs \
             `--allow-all`.",
            spec.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(access: Access) -> Spec {
        Spec { name: "t", about: "", schema: serde_json::Value::Null, access }
    }

    #[test]
    fn a_session_without_permission_may_only_look() {
        let verdict = |permission: Permission, access| check(permission, &spec(access)).is_ok();
        let all = [Access::Read, Access::Session, Access::Write, Access::Execute];
        assert_eq!(all.map(|access| verdict(Permission::ReadOnly, access)), [true, true, false, false]);
        assert_eq!(all.map(|access| verdict(Permission::AllowAll, access)), [true; 4]);
    }
}
