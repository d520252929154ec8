import CSystem
import Glibc

/// Copies a whole file between descriptors, as cheaply as the file systems allow.
package enum FileCopy {
    // FICLONE of <linux/fs.h>: both files then share their blocks.
    private static let clone: UInt = 0x4004_9409

    package static func copy(
        from source: borrowing FileDescriptor, to target: borrowing FileDescriptor, size: Int64
    ) throws(StorageError) {
        if ioctl(target.raw, clone, source.raw) == 0 { return }
        var position: Int64 = 0
        while position < size {
            let count = kf_copy_file_range(source.raw, &position, target.raw, Int(size - position))
            if count > 0 { continue }
            // Another file system, a pipe, an old kernel: by hand from where it stopped. (0 is a file that shrank.)
            if count == 0 || errno != EINTR { break }
        }
        if position < size { try copyByHand(from: source, at: position, to: target) }
    }

    private static func copyByHand(
        from source: borrowing FileDescriptor, at start: Int64, to target: borrowing FileDescriptor
    ) throws(StorageError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 64)
        defer { buffer.deallocate() }
        var position = start
        while true {
            let count = try retry("read", source.path) {
                pread(source.raw, buffer.baseAddress, buffer.count, off_t(position))
            }
            if count == 0 { return }
            try target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += Int64(count)
        }
    }
}
