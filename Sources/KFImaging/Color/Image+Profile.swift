extension Image {
    /// The same image without a profile that its pixels no longer go with, such as that of grey on a picture that has
    /// become a coloured one.
    var withFittingProfile: Image {
        var image = self
        image.iccProfile = ICCProfile.fitting(iccProfile, bitmap.format)
        return image
    }
}
