//! The skills of a session. They can be read again and switched on and off while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::api::{ReloadSkillsResult, SkillView};
use protocol::{Clip, Hinted, Refusal, SkillSpec};

/// Finds the skills that apply to a session, as often as it is asked.
pub trait SkillSource: Send + Sync + fmt::Debug {
    /// The skills as they are now, and their problems. It reads files.
    fn find(&self) -> Result<FoundSkills, Refusal>;
}

/// The skills that apply, and their problems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundSkills {
    /// The skills; their names are unique.
    pub skills: Vec<SkillSpec>,
    /// Their problems.
    pub problems: ReloadSkillsResult,
}

/// Why skills are not changed as asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SkillChangeError {
    #[error("there is no skill `{0}`")]
    Unknown(Clip),
    #[error("the skills of this session are fixed")]
    Fixed,
    #[error("{}", .0.message)]
    NotFound(Refusal),
    #[error("skills were not read: {0}")]
    Stopped(tokio::task::JoinError),
}

impl Hinted for SkillChangeError {
    fn hint(&self) -> Option<String> {
        match self {
            SkillChangeError::NotFound(refusal) => refusal.hint.clone(),
            SkillChangeError::Unknown(_) | SkillChangeError::Fixed | SkillChangeError::Stopped(_) => None,
        }
    }
}

/// The skills of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionSkills {
    state: Mutex<SkillState>,
    source: Option<Arc<dyn SkillSource>>,
}

#[derive(Debug, Default)]
struct SkillState {
    skills: Arc<[SkillSpec]>,
    disabled: BTreeSet<String>,
}

impl SessionSkills {
    pub(crate) fn new(
        skills: &[SkillSpec],
        disabled: &BTreeSet<String>,
        source: Option<Arc<dyn SkillSource>>,
    ) -> SessionSkills {
        let state = SkillState { skills: skills.into(), disabled: disabled.clone() };
        SessionSkills { state: Mutex::new(state), source }
    }

    /// The skills that are switched on.
    pub(crate) fn enabled(&self) -> Vec<SkillSpec> {
        let state = self.lock();
        state.skills.iter().filter(|skill| !state.disabled.contains(&skill.name)).cloned().collect()
    }

    /// The skill of this name, if it is switched on.
    pub(crate) fn get(&self, name: &str) -> Option<SkillSpec> {
        let state = self.lock();
        let is_meant = |skill: &&SkillSpec| skill.name == name && !state.disabled.contains(name);
        state.skills.iter().find(is_meant).cloned()
    }

    /// Whether there is a skill of this name, switched on or off.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.lock().skills.iter().any(|skill| skill.name == name)
    }

    /// All skills as clients see them.
    pub(crate) fn views(&self) -> Vec<SkillView> {
        let state = self.lock();
        let view = |skill: &SkillSpec| SkillView::new(skill.clone(), !state.disabled.contains(&skill.name));
        state.skills.iter().map(view).collect()
    }

    /// Switches a skill on or off.
    pub(crate) fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), SkillChangeError> {
        let mut state = self.lock();
        if !state.skills.iter().any(|skill| skill.name == name) {
            return Err(SkillChangeError::Unknown(Clip::new(name, 100)));
        }
        if enabled {
            state.disabled.remove(name);
        } else {
            state.disabled.insert(name.to_owned());
        }
        Ok(())
    }

    /// Reads the skills again. Those that are switched off stay so.
    pub(crate) async fn reload(&self) -> Result<ReloadSkillsResult, SkillChangeError> {
        let source = self.source.clone().ok_or(SkillChangeError::Fixed)?;
        let found = tokio::task::spawn_blocking(move || source.find()).await.map_err(SkillChangeError::Stopped)?;
        let FoundSkills { skills, problems } = found.map_err(SkillChangeError::NotFound)?;
        self.lock().skills = skills.into();
        Ok(problems)
    }

    fn lock(&self) -> MutexGuard<'_, SkillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct TwoSkills;

    impl SkillSource for TwoSkills {
        fn find(&self) -> Result<FoundSkills, Refusal> {
            Ok(FoundSkills { skills: vec![skill("old"), skill("new")], ..FoundSkills::default() })
        }
    }

    fn skill(name: &str) -> SkillSpec {
        SkillSpec { name: name.into(), ..SkillSpec::default() }
    }

    #[tokio::test]
    async fn a_skill_that_is_switched_off_stays_off_when_skills_are_read_again() {
        let disabled = BTreeSet::from(["old".to_owned()]);
        let skills = SessionSkills::new(&[skill("old")], &disabled, Some(Arc::new(TwoSkills)));
        let enabled = || skills.enabled().into_iter().map(|skill| skill.name).collect::<Vec<_>>();
        assert!(skills.get("old").is_none() && enabled().is_empty());
        skills.reload().await.unwrap();
        assert_eq!(enabled(), ["new"]);
        skills.set_enabled("old", true).unwrap();
        skills.set_enabled("new", false).unwrap();
        assert_eq!(enabled(), ["old"]);
        assert_eq!(skills.views().iter().map(|skill| skill.enabled).collect::<Vec<_>>(), [true, false]);
        assert_eq!(skills.set_enabled("none", true).unwrap_err().to_string(), "there is no skill `none`");
        let fixed = SessionSkills::new(&[], &disabled, None).reload().await.unwrap_err();
        assert_eq!(fixed.to_string(), "the skills of this session are fixed");
    }
}
