import KFImaging
import KFStorage

/// What a transfer brought, checked: an image's bytes, whole.
struct DownloadedImage: Sendable {
    let bytes: PendingBytes
    let format: ImageFormat
    /// Nil for formats that kf recognises and cannot read.
    let info: ImageInfo?
    /// In bytes.
    let size: Int64
    /// Nil for what no server sent.
    let response: ResponseFacts?
}
