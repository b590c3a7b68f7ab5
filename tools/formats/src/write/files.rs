use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that could not be written; what was there before is still there.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    /// The file, or the folder that cannot be made or written into.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Writes a file whole or not at all: beside its place first, then renamed.
///
/// # Errors
/// [`WriteError`]; a file that was there before is unchanged then.
pub fn write_file(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "this is no name for a file");
        return Err(WriteError { path: path.to_owned(), source });
    };
    let mut files = FileSet::new(folder);
    files.add(name, content)?;
    files.commit()?;
    Ok(())
}

/// Files of one folder that appear together, once all are written.
pub(crate) struct FileSet<'a> {
    folder: &'a Path,
    files: Vec<(NamedTempFile, PathBuf)>,
    gone: Vec<PathBuf>,
}

impl<'a> FileSet<'a> {
    pub(crate) const fn new(folder: &'a Path) -> Self {
        Self { folder, files: Vec::new(), gone: Vec::new() }
    }

    /// Writes a file beside its place.
    pub(crate) fn add(&mut self, name: &str, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
        let path = self.folder.join(name);
        let failed = |source| WriteError { path: path.clone(), source };
        let file = new_file(self.folder).map_err(failed)?;
        let mut buffered = BufWriter::with_capacity(1 << 16, file);
        content(&mut buffered).map_err(failed)?;
        let file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        // Otherwise a crash of the machine could leave the new name with no content.
        file.as_file().sync_all().map_err(failed)?;
        self.files.push((file, path));
        Ok(())
    }

    /// Lets a file of an earlier set go that does not belong to this one.
    pub(crate) fn remove(&mut self, name: &str) {
        self.gone.push(self.folder.join(name));
    }

    /// Gives the files their names.
    pub(crate) fn commit(self) -> Result<Vec<PathBuf>, WriteError> {
        let mut paths = Vec::with_capacity(self.files.len());
        for (file, path) in self.files {
            if let Err(error) = file.persist(&path) {
                return Err(WriteError { path, source: error.error });
            }
            paths.push(path);
        }
        for path in self.gone {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(WriteError { path, source }),
                _ => {}
            }
        }
        Ok(paths)
    }
}

fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        // A plain file in its place; that this exists is not what is wrong.
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), format!("{} is not a folder", folder.display())),
        _ => error,
    })?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".heddle-");
    // As any new file: the default of temporary files is for the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
