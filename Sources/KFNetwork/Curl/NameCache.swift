import CCurl

/// A cache of resolved names that handles share. Confined to the I/O thread.
///
/// libcurl 7.88 walks its whole cache, which holds the names of the last 60 s, at the end of every transfer: 10,000
/// transfers to 10,000 hosts spent a third of their time there. So a new cache replaces one that 256 hosts have used.
/// The old one is freed when the last handle has moved on.
final class NameCache {
    let pointer: UnsafeMutableRawPointer

    /// nil when memory ran out.
    init?() {
        guard let pointer = kf_names_new() else { return nil }
        self.pointer = pointer
    }

    deinit { kf_names_free(pointer) }
}
