extension ImageProcessItem {
    /// The same as `image(_:each:)` for a change that may make a coloured picture of a grey one. A grey one with a
    /// profile is converted to sRGB first, as the profile has nothing to say of what it becomes.
    func image(
        _ options: DecodeOptions, coloring: Bool, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        let item = coloring ? try withoutGrayProfile(options) : self
        return try item.image(options, each: change).withFittingProfile
    }

    private func withoutGrayProfile(_ options: DecodeOptions) throws(ImagingError) -> ImageProcessItem {
        let image: Image
        switch self {
        case .image(let decoded): image = decoded
        case .data(let bytes):
            let format = try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                try ImageProbe.decodableFormat(UnsafeRawBufferPointer(buffer))
            }
            // The others are decoded in colour; their animations are better left to be changed frame by frame.
            guard format == .jpeg || format == .png else { return self }
            image = try ImageDecoder.decode(bytes, options: options)
        }
        return .image(image.bitmap.format.isGray ? try image.convertedToSRGB() : image)
    }
}
