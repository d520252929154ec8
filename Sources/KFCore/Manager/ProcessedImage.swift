import KFImaging

/// What a processor made, and the bytes that stand for it.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat
}
