import KFImaging

/// The result of a processor, and its encoded bytes.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat
}
