import Glibc
import KFSystem

/// A file that an option names and that is read whole, on the thread of all transfers.
enum OptionFile {
    /// The largest file that is read, in bytes: more than any bundle of certificates.
    private static let limit = 64 << 20
    /// The device that is always empty: 1, 3.
    private static let null: dev_t = 0x103

    /// Throws `.engine` for a file that is too large, and for a device that may have no end. `what` is the option.
    static func check(_ path: String, _ what: String) throws(TransferError) {
        var status = stat()
        // libcurl reports that the file is missing.
        if path.withPath({ stat($0, &status) }) == 0 { try check(status, path, what) }
    }

    static func check(_ status: stat, _ path: String, _ what: String) throws(TransferError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG where status.st_size > limit:
            throw .engine(detail: "\(what) \(path): larger than \(limit >> 20) MiB")
        case S_IFCHR where status.st_rdev == null: return
        case S_IFCHR, S_IFBLK: throw .engine(detail: "\(what) \(path): a device")
        default: return
        }
    }
}
