import CArchive
import Glibc
import KFStorage
import KFTerms

/// A tar archive that is being written, by libarchive. Used by one thread at a time.
package final class TarWriter {
    private let tar: OpaquePointer
    package let file: FileDescriptor

    /// Loads libarchive. Throws `outputFailed` (4002) if it is not installed.
    package static func load() throws(KingfisherError) {
        guard let problem = kf_archive_load() else { return }
        let detail = "tar archives need libarchive (on Debian: libarchive13): \(String(cString: problem))"
        throw .processorError(reason: .outputFailed(detail: detail))
    }

    /// The version of libarchive, or the reason why it cannot be loaded. Loads it.
    package static func version() -> (version: String?, problem: String) {
        if let problem = kf_archive_load() { return (nil, String(cString: problem)) }
        // As in `libarchive 3.6.2 zlib/1.2.13 liblzma/5.4.1`.
        let words = String(cString: kf_archive_version()).split(separator: " ")
        return (words.dropFirst().first.map(String.init) ?? "", "")
    }

    /// Begins an archive in an empty file. Call `load` before.
    package init(_ file: consuming FileDescriptor) throws(StorageError) {
        guard let tar = kf_tar_new(file.raw) else {
            throw .system(call: "archive_write_new", path: file.path, errno: ENOMEM)
        }
        self.tar = tar
        self.file = file
    }

    deinit { kf_tar_free(tar) }

    /// Begins a member. Its bytes follow with `write`.
    package func begin(_ name: String, size: Int64) throws(StorageError) { try check(kf_tar_begin(tar, name, size)) }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try check(kf_tar_write(tar, bytes.baseAddress, bytes.count))
    }

    package func close() throws(StorageError) { try check(kf_tar_close(tar)) }

    private func check(_ code: Int32) throws(StorageError) {
        if code != 0 { throw .system(call: "write", path: file.path, errno: code) }
    }
}
